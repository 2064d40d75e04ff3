// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/docket-project/docket/internal/kit/progress"
)

const (
	// settle is how long a watcher may need for the last events after the last write.
	settle = 10 * time.Second

	// longestEvent bounds one event; objects are smaller than 3 MB in Kubernetes.
	longestEvent = 8 << 20

	eventBuffer = 64 << 10
)

// watch measures how long after a PUT was sent each watcher has the event. Every watcher
// must get every write once, or every write to its namespace.
func (l *loader) watch(ctx context.Context, r *recorder) error {
	revision, err := l.revision(ctx)
	if err != nil {
		return err
	}
	reading, stopReading := context.WithCancel(ctx)
	defer stopReading()
	selector := fmt.Sprintf("%s=%d", runLabel, l.options.seed)
	seen := make([]*sightings, l.options.watchers)
	var watchers sync.WaitGroup
	for number := range seen {
		seen[number] = newSightings()
		events, err := l.openWatch(reading, number, l.watched(number), selector, revision)
		if err != nil {
			return fmt.Errorf("open watch %d: %w", number+1, err)
		}
		watchers.Go(func() {
			err := events.each(func(event []byte) error { return seen[number].add(event, r) })
			close(seen[number].ended)
			if reading.Err() == nil {
				r.fail(ctx, fmt.Errorf("watch %d ended: %w", number+1, err))
			}
		})
	}
	written := l.writeForWatchers(ctx, r)
	settling, cancel := context.WithTimeout(ctx, settle)
	defer cancel()
	for number, s := range seen {
		wanted := written[l.watched(number)]
		if missing := s.wait(settling, wanted); missing > 0 {
			r.fail(ctx, wrongAnswer("watch %d misses %d of %d events %v after the last write", number+1, missing, len(wanted), settle))
		}
	}
	stopReading()
	watchers.Wait()
	r.note("%d writes by PUT at %g/s, seen by %d watchers", len(written[""]), l.options.watchRate, l.options.watchers)
	return nil
}

// watched is the namespace that a watcher watches; "" is all.
func (l *loader) watched(number int) string {
	if !l.options.watchOne || !l.options.kind.Namespaced {
		return ""
	}
	return l.bodies.namespaceName(number % l.options.namespaces)
}

// writeForWatchers updates objects for --duration and returns the times of sending of
// what the server accepted, by namespace; "" has all.
func (l *loader) writeForWatchers(ctx context.Context, r *recorder) map[string][]int64 {
	total := max(1, int(l.options.duration.Seconds()*l.options.watchRate))
	bar := progress.New(l.progressOut, int64(total), "watch")
	defer bar.Done()
	limit := rate.NewLimiter(rate.Limit(l.options.watchRate), 1)
	var mu sync.Mutex
	written := map[string][]int64{}
	var next atomic.Int64
	var writers sync.WaitGroup
	// No more writers than objects, and each object for one of them: no conflicts.
	count := min(l.options.clients, l.options.objects)
	for number := range count {
		writers.Go(func() {
			w := &worker{number: number}
			for i := number; limit.Wait(ctx) == nil && next.Add(1) <= int64(total); i += count {
				if i >= l.options.objects {
					i = number
				}
				sent, err := l.touch(ctx, r, w, i)
				if err != nil {
					r.fail(ctx, err)
				} else {
					mu.Lock()
					for _, namespace := range []string{"", l.bodies.namespace(i)} {
						written[namespace] = append(written[namespace], sent.UnixNano())
					}
					mu.Unlock()
				}
				bar.Add(1)
			}
		})
	}
	writers.Wait()
	return written
}

// sightings are the writes that one watcher saw, by their times of sending.
type sightings struct {
	ended chan struct{} // closed when the watch has ended

	mu      sync.Mutex // guards the fields below
	times   map[int64]bool
	changed chan struct{} // closed and replaced when times grows
}

func newSightings() *sightings {
	return &sightings{ended: make(chan struct{}), times: map[int64]bool{}, changed: make(chan struct{})}
}

// add records the latency of an event that holds an object.
func (s *sightings) add(event []byte, r *recorder) error {
	now := time.Now()
	sent, found := sentOf(event)
	if !found {
		return nil // A bookmark.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times[sent] {
		return wrongAnswer("one event came twice: %.200s", event)
	}
	s.times[sent] = true
	close(s.changed)
	s.changed = make(chan struct{})
	r.ok(now.Sub(time.Unix(0, sent)), len(event))
	return nil
}

// wait returns how many of the writes are still missing when ctx or the watch ends; 0
// as soon as there are none.
func (s *sightings) wait(ctx context.Context, written []int64) int {
	for {
		s.mu.Lock()
		missing := 0
		for _, sent := range written {
			if !s.times[sent] {
				missing++
			}
		}
		changed := s.changed
		s.mu.Unlock()
		if missing == 0 {
			return 0
		}
		select {
		case <-changed:
		case <-s.ended:
			return missing
		case <-ctx.Done():
			return missing
		}
	}
}

// revision returns the server's current resource version.
func (l *loader) revision(ctx context.Context) (string, error) {
	var answer bytes.Buffer
	if err := l.client.do(ctx, 0, http.MethodGet, l.bodies.collection("")+"?limit=1", nil, http.StatusOK, &answer); err != nil {
		return "", err
	}
	return revisionOf(answer.Bytes())
}

// eventStream is an open watch.
type eventStream struct {
	body  interface{ Close() error }
	lines *bufio.Scanner
}

// openWatch starts a watch over one namespace, or all if that is "". It ends with ctx.
func (l *loader) openWatch(ctx context.Context, number int, namespace, selector, revision string) (*eventStream, error) {
	query := url.Values{
		"watch":               {"true"},
		"allowWatchBookmarks": {"true"},
		"resourceVersion":     {revision},
		"labelSelector":       {selector},
		"timeoutSeconds":      {fmt.Sprint(int((l.options.duration + time.Hour).Seconds()))},
	}
	body, err := l.watchClient.open(ctx, number, http.MethodGet, l.bodies.collection(namespace)+"?"+query.Encode(), nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(body) // The server ends each event with a newline.
	lines.Buffer(make([]byte, 0, eventBuffer), longestEvent)
	return &eventStream{body, lines}, nil
}

// each hands on every event until the watch ends, and says why it did.
func (e *eventStream) each(handle func(event []byte) error) error {
	defer func() { _ = e.body.Close() }()
	for e.lines.Scan() {
		event := e.lines.Bytes()
		if bytes.HasPrefix(event, []byte(`{"type":"ERROR"`)) {
			return wrongAnswer("error event: %.300s", event)
		}
		if err := handle(event); err != nil {
			return err
		}
	}
	if err := e.lines.Err(); err != nil {
		return err
	}
	return errors.New("the server closed it")
}

// idleWatch holds watches that match nothing. An operation is the opening of one.
func (l *loader) idleWatch(ctx context.Context, r *recorder) error {
	revision, err := l.revision(ctx)
	if err != nil {
		return err
	}
	holding, release := context.WithCancel(ctx)
	defer release()
	var bookmarks atomic.Int64
	var watchers sync.WaitGroup
	started := time.Now()
	l.each(ctx, r, "open idle watches", l.options.idleWatchers, func(w *worker, i int) error {
		w.answer.Reset()
		events, err := l.openWatch(holding, i, "", runLabel+"=nobody", revision)
		if err != nil {
			return err
		}
		watchers.Go(func() {
			err := events.each(func([]byte) error { bookmarks.Add(1); return nil })
			if holding.Err() == nil {
				r.fail(ctx, fmt.Errorf("idle watch %d ended: %w", i+1, err))
			}
		})
		return nil
	})
	r.ran(time.Since(started))
	held := time.NewTimer(l.options.duration)
	defer held.Stop()
	select {
	case <-held.C:
	case <-ctx.Done():
	}
	release()
	watchers.Wait()
	r.note("held for %v; %d bookmarks came", l.options.duration, bookmarks.Load())
	return nil
}
