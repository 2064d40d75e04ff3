// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
	utilflowcontrol "k8s.io/apiserver/pkg/util/flowcontrol"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/hub"
)

const (
	// watchBuffer is how many events a watcher may be ahead of its client.
	watchBuffer = 32
	// readAtOnce is how many events a watcher takes from the hub at once.
	readAtOnce = 32
)

// Watch implements storage.Interface. Errors after the options were accepted are sent as events in the stream, as
// clients that lose an open watch expect: some never recover from a watch that is refused.
func (r *Resource) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	key, err := r.prepareKey(key, opts.Recursive)
	if err != nil {
		return nil, err
	}
	revision, err := r.versioner.ParseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return nil, badResourceVersion(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{
		resource: r, key: r.rest(key), options: opts, ctx: ctx, cancel: cancel,
		events: make(chan watch.Event, watchBuffer),
		start:  engine.Revision(revision),
	}
	// Before anything is read: what the database loses from now on ends the watch.
	w.sub = r.store.hub.Subscribe(r.resource, w.directory())
	w.startError = w.prepare()
	go w.run()
	return w, nil
}

// prepare decides where the watch begins: what is written after Watch returned must be
// seen, even if it is deleted right after.
func (w *watcher) prepare() error {
	switch {
	case w.hasInitial():
		err := w.checkNotFuture()
		if err == nil {
			w.first, err = w.readPage(w.snapshot())
		}
		return err
	case w.start == 0:
		state, err := w.resource.store.engine.State(w.ctx)
		w.cursor = state.Revision
		return err
	}
	return nil
}

// hasInitial reports whether the watch begins with the objects that there are.
func (w *watcher) hasInitial() bool {
	if w.options.SendInitialEvents != nil {
		return *w.options.SendInitialEvents
	}
	return w.start == 0
}

// watcher is one watch: a cursor into the events of the cluster. Its goroutine
// ends with ctx, that is with the request or Stop.
type watcher struct {
	resource *Resource
	// key or, when recursive, prefix of the keys that are watched.
	key     string
	options storage.ListOptions
	ctx     context.Context //nolint:containedctx // the watch is the request
	cancel  context.CancelFunc
	events  chan watch.Event

	// start is the resource version that the client asked for.
	start engine.Revision
	// startError is the error from before the stream was open.
	startError error
	// first is the first page of the initial events, if there are to be any.
	first engine.Page
	// cursor: all events up to it were looked at.
	cursor engine.Revision
	sub    *hub.Subscription[change]
}

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.cancel() }

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

var errLost = fmt.Errorf("%w: the database was restored or failed over", engine.ErrCompacted)

func (w *watcher) run() {
	defer close(w.events)
	defer w.cancel()
	defer w.sub.Stop()
	err := w.begin()
	utilflowcontrol.WatchInitialized(w.ctx)
	if err == nil {
		err = w.follow()
	}
	if err != nil && w.ctx.Err() == nil {
		status := watchError(err)
		w.send(watch.Event{Type: watch.Error, Object: &status})
	}
}

// directory is the prefix of keys that the hub is to wake the watcher for.
func (w *watcher) directory() string {
	return w.key[:strings.LastIndexByte(w.key, '/')+1]
}

// begin sends the initial events, if any, and sets the cursor.
func (w *watcher) begin() error {
	switch {
	case w.startError != nil:
		return w.startError
	case w.hasInitial():
		if err := w.sendSnapshot(); err != nil {
			return err
		}
		if w.options.SendInitialEvents != nil && w.options.Predicate.AllowWatchBookmarks {
			return w.bookmark(true)
		}
	case w.start > 0:
		w.cursor = w.start
		if w.start < w.resource.store.hub.State().Compacted {
			return engine.ErrCompacted
		}
		return w.resource.store.checkGivenOut(w.ctx, w.start)
	}
	return nil
}

// checkNotFuture refuses initial events that should be newer than there are.
func (w *watcher) checkNotFuture() error {
	if w.start == 0 {
		return nil
	}
	present, err := w.resource.store.await(w.ctx, w.start)
	if err == nil && w.start > present {
		err = storage.NewTooLargeResourceVersionError(uint64(w.start), uint64(present), retryAfterSeconds)
	}
	return err
}

// snapshot is the query for the initial events.
func (w *watcher) snapshot() engine.Query {
	r := w.resource
	q := engine.Query{Resource: r.resource, Prefix: w.key, Limit: r.streaming.rows()}
	if w.options.Recursive {
		q.Conditions, q.Derivation = r.store.index.conditions(w.options.Predicate), r.store.options.Derivation
	} else {
		q.After, q.Inclusive, q.Limit = w.key, true, 1
	}
	return q
}

func (w *watcher) readPage(q engine.Query) (engine.Page, error) {
	page, err := w.resource.store.engine.List(w.ctx, q)
	if !w.options.Recursive {
		page.Rows, page.More = exactly(page.Rows, w.key), false
	}
	w.resource.streaming.saw(page.Rows)
	return page, err
}

// sendSnapshot sends an ADDED event for each object of the snapshot that the first page is
// of, reading page by page, and sets the cursor to its revision.
func (w *watcher) sendSnapshot() error {
	page, q := w.first, w.snapshot()
	w.first, q.At = engine.Page{}, page.State.Revision
	reader := reader{readers: &w.resource.store.readers}
	defer reader.end()
	for {
		if err := w.sendRows(page.Rows); err != nil {
			return err
		}
		if !page.More || len(page.Rows) == 0 {
			w.cursor = q.At
			return nil
		}
		reader.needs(q.At)
		q.After, q.Inclusive, q.Limit = page.Rows[len(page.Rows)-1].Key, false, w.resource.streaming.rows()
		var err error
		if page, err = w.readPage(q); err != nil {
			return err
		}
	}
}

// sendRows sends those of a snapshot that match.
func (w *watcher) sendRows(rows []engine.Row) error {
	objects, err := w.resource.objects(w.ctx, rows)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if matches(w.options.Predicate, object) && !w.send(watch.Event{Type: watch.Added, Object: object.DeepCopyObject()}) {
			return w.ctx.Err()
		}
	}
	return nil
}

// follow sends events after the cursor until the watch ends.
func (w *watcher) follow() error {
	clock := w.resource.store.options.Clock
	var bookmarks <-chan time.Time
	if w.options.Predicate.AllowWatchBookmarks || w.options.ProgressNotify {
		ticker := clock.NewTicker(w.resource.store.options.BookmarkInterval)
		defer ticker.Stop()
		bookmarks = ticker.C()
	}
	buffer := make([]*hub.Entry[change], 0, readAtOnce)
	due := false
	for w.ctx.Err() == nil {
		progress := w.progress()
		signal := w.sub.Signal()
		more, err := w.readSome(buffer)
		if err != nil {
			return err
		}
		if due {
			due = false
			if err := w.bookmark(false); err != nil {
				return err
			}
		}
		if more {
			signal = ready // Bookmarks have their turn even if there is always more.
		}
		select {
		case <-signal:
		case <-bookmarks:
			due = true
		case <-progress:
			due = true
		case <-w.ctx.Done():
		}
	}
	return nil
}

// ready is a signal that is there.
var ready = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// progress returns a channel that is closed when bookmarks are asked for.
func (w *watcher) progress() <-chan struct{} {
	if !w.options.ProgressNotify {
		return nil
	}
	return w.resource.progress.wait()
}

// readSome sends some of what there is after the cursor, and returns whether there may be more.
func (w *watcher) readSome(buffer []*hub.Entry[change]) (more bool, err error) {
	entries, next, status := w.sub.Read(w.cursor, buffer[:0], readAtOnce)
	switch status {
	case hub.Lost:
		return false, errLost
	case hub.Behind:
		if entries, next, err = w.resource.store.history.read(w.ctx, w.cursor, w.fits, buffer[:0], readAtOnce); err != nil {
			return false, err
		}
	case hub.Current:
	}
	for _, entry := range entries {
		if err := w.handle(entry); err != nil {
			return false, err
		}
	}
	// Entries up to next were looked at, even those that the buffer had no room for: reading stops before them.
	w.cursor = next
	return status == hub.Behind || len(entries) == readAtOnce, nil
}

// fits reports whether an event is of the keys that the hub wakes the watcher for.
func (w *watcher) fits(entry *hub.Entry[change]) bool {
	return entry.Resource == w.resource.resource && strings.HasPrefix(entry.Key, w.directory())
}

// handle sends what an event means to this watch, if anything.
func (w *watcher) handle(entry *hub.Entry[change]) error {
	if !w.options.Recursive && entry.Key != w.key || !strings.HasPrefix(entry.Key, w.key) {
		return nil
	}
	shared := w.sub.Shared() && !w.resource.config.ManyVersions
	var c *change
	if w.resource.config.ManyVersions {
		c = w.resource.newChange(entry)
	} else {
		c = entry.Decoded(w.resource.newChange)
	}
	event, err := w.translate(c, shared)
	if err != nil || event == nil {
		return err
	}
	if !w.send(*event) {
		return w.ctx.Err()
	}
	return nil
}

// translate says what a change is to somebody who sees only what matches: an
// object that enters the selection is ADDED, one that leaves it is DELETED.
func (w *watcher) translate(c *change, shared bool) (*watch.Event, error) {
	everything := w.options.Predicate.Empty()
	isNow, wasBefore := c.entry.Kind != engine.Delete, c.entry.Kind != engine.Create
	var now, before *version
	var err error
	if isNow {
		if now, err = c.now(w.ctx); err != nil {
			return nil, err
		}
		isNow = everything || matches(w.options.Predicate, now.object)
	}
	if wasBefore && (!everything || c.entry.Kind == engine.Delete) {
		if before, err = c.before(w.ctx); err != nil {
			if c.entry.Kind == engine.Delete {
				err = deletedError(err)
			}
			return nil, err
		}
		wasBefore = everything || matches(w.options.Predicate, before.object)
	}
	switch {
	case isNow && wasBefore:
		return &watch.Event{Type: watch.Modified, Object: now.forWatcher(shared)}, nil
	case isNow:
		return &watch.Event{Type: watch.Added, Object: now.forWatcher(shared)}, nil
	case wasBefore:
		return &watch.Event{Type: watch.Deleted, Object: before.forWatcher(shared)}, nil
	}
	return nil, nil
}

func deletedError(err error) error {
	var corrupt *corruptError
	if errors.As(err, &corrupt) {
		return &corruptDeletedError{err}
	}
	return err
}

// bookmark tells the client the revision up to which it has seen everything.
func (w *watcher) bookmark(endOfInitial bool) error {
	object := w.resource.config.NewFunc()
	if err := w.resource.versioner.UpdateObject(object, uint64(w.cursor)); err != nil {
		return fmt.Errorf("set the resource version of a bookmark: %w", err)
	}
	if endOfInitial {
		if err := storage.AnnotateInitialEventsEndBookmark(object); err != nil {
			return fmt.Errorf("mark the end of the initial events: %w", err)
		}
	}
	w.send(watch.Event{Type: watch.Bookmark, Object: object})
	return nil
}

// send delivers an event, or returns false when the watch has ended.
func (w *watcher) send(event watch.Event) bool {
	select {
	case w.events <- event:
		return true
	case <-w.ctx.Done():
		return false
	}
}
