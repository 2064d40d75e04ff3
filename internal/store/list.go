// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"reflect"
	goruntime "runtime"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/storage"
	utilfeature "k8s.io/apiserver/pkg/util/feature"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// listPage is how many rows are read at once for a list without a limit.
	listPage = 1000
	// maxPage bounds the pages that grow while a selector drops most objects.
	maxPage = 10000
	// parallelDecode is the page size from which on several cores decode.
	parallelDecode = 32
	// decodeChunk is how many rows are decoded at least while a selector leaves
	// open how many will do.
	decodeChunk = 64
)

// GetList implements storage.Interface.
func (r *Resource) GetList(ctx context.Context, key string, opts storage.ListOptions, listObj runtime.Object) (err error) {
	key, err = r.prepareKey(key, opts.Recursive)
	if err != nil {
		return err
	}
	defer r.observe("list", &err)()
	items, err := itemsOf(listObj)
	if err != nil {
		return err
	}
	withRev, continueKey, err := storage.ValidateListOptions(key, r.versioner, opts)
	if err != nil {
		return err
	}
	if after, _ := startKey(continueKey); !storable(after) {
		return apierrors.NewBadRequest("invalid continue token: it doesn't hold a key of this server")
	}
	l := &lister{
		resource: r, keyPrefix: key, options: opts, items: items,
		revision: engine.Revision(withRev), continueKey: continueKey, before: -1,
	}
	if err := l.run(ctx); err != nil {
		return err
	}
	if items.IsNil() {
		items.Set(reflect.MakeSlice(items.Type(), 0, 0))
	}
	token, remaining, err := l.continueToken()
	if err != nil {
		return err
	}
	if err := r.versioner.UpdateList(listObj, uint64(l.revision), token, remaining); err != nil {
		return err
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.ShardedListAndWatch) {
		opts.Predicate.SetShardInfoOnList(listObj)
	}
	return nil
}

func itemsOf(listObj runtime.Object) (reflect.Value, error) {
	pointer, err := meta.GetItemsPtr(listObj)
	if err != nil {
		return reflect.Value{}, err
	}
	items, err := conversion.EnforcePtr(pointer)
	if err != nil || items.Kind() != reflect.Slice {
		return reflect.Value{}, fmt.Errorf("need a pointer to a slice: %w", err)
	}
	return items, nil
}

// lister fills a list with the objects of one snapshot, page by page.
type lister struct {
	resource    *Resource
	keyPrefix   string
	options     storage.ListOptions
	items       reflect.Value
	revision    engine.Revision
	continueKey string

	// lastKey is the key of the last row that was looked at.
	lastKey string
	more    bool
	// remaining rows after lastKey, -1 for too many to count; only with an empty
	// predicate and a limit.
	remaining int64
	// before is how many rows were left before this page, as far as it is known
	// from the page before; else -1.
	before int64
}

func (l *lister) limit() int64 { return l.options.Predicate.Limit }

func (l *lister) full() bool { return l.limit() > 0 && int64(l.items.Len()) >= l.limit() }

func (l *lister) run(ctx context.Context) error {
	q := l.query()
	reader := reader{readers: &l.resource.store.readers}
	defer reader.end()
	for {
		page, err := l.resource.store.engine.List(ctx, q)
		if err != nil {
			return listError(err, q.At, l.current(ctx), l.continueKeyFor(q), l.keyPrefix)
		}
		if !l.options.Recursive {
			page.Rows, page.More = exactly(page.Rows, q.After), false
		}
		if err := l.resource.atLeast(l.options.ResourceVersion, page.State.Revision); err != nil {
			return err
		}
		if l.revision == 0 {
			l.revision = page.State.Revision
		}
		l.more, l.remaining = page.More, page.Remaining
		if l.before >= 0 {
			l.remaining = l.before - int64(len(page.Rows))
		}
		if err := l.take(ctx, page.Rows); err != nil {
			return err
		}
		if !l.more || l.full() {
			return nil
		}
		reader.needs(l.revision)
		q = l.next(q)
	}
}

// query returns the first page's.
func (l *lister) query() engine.Query {
	r := l.resource
	q := engine.Query{Resource: r.resource, At: l.revision, Limit: listPage}
	if !l.options.Recursive {
		// The row at the key itself, or none.
		q.Prefix, q.After, q.Inclusive, q.Limit = r.rest(l.keyPrefix), r.rest(l.keyPrefix), true, 1
		return q
	}
	q.Prefix = r.rest(l.keyPrefix)
	q.Conditions, q.Derivation = r.store.index.conditions(l.options.Predicate), r.store.options.Derivation
	if l.limit() > 0 {
		q.Limit = int(min(l.limit(), maxPage))
		q.Count = l.options.Predicate.Empty()
	}
	if l.continueKey != "" {
		q.After, q.Inclusive = startKey(r.rest(l.continueKey))
	}
	if q.Count && !q.Inclusive && q.Limit == int(l.limit()) {
		if count, counted := r.store.counts.get(l.place(q.At, q.After)); counted {
			l.before, q.Count = count, false
		}
	}
	return q
}

func (l *lister) place(at engine.Revision, after string) countKey {
	return countKey{l.resource.resource, l.resource.rest(l.keyPrefix), after, at}
}

// next returns the query of the page after q. Pages grow while selectors drop
// what was read, so that rare objects don't cost a query each.
func (l *lister) next(q engine.Query) engine.Query {
	q.After, q.Inclusive, q.At = l.lastKey, false, l.revision
	if l.limit() > 0 {
		q.Limit = min(2*q.Limit, maxPage)
	}
	return q
}

// startKey returns where to go on from the key of a continue token: such keys
// end in a zero byte, "the next key after", which databases can't store.
func startKey(key string) (after string, inclusive bool) {
	if n := len(key) - 1; n >= 0 && key[n] == 0 {
		return key[:n], false
	}
	return key, true
}

func exactly(rows []engine.Row, key string) []engine.Row {
	if len(rows) > 0 && rows[0].Key == key {
		return rows[:1]
	}
	return nil
}

// take appends the rows that match until the list is full. Rows beyond what a
// limit can need are not decoded, but for the rest of a chunk.
func (l *lister) take(ctx context.Context, rows []engine.Row) error {
	l.grow(len(rows))
	for len(rows) > 0 {
		if l.full() {
			l.more = true
			return nil
		}
		chunk := len(rows)
		if l.limit() > 0 {
			chunk = min(chunk, max(int(l.limit())-l.items.Len(), decodeChunk))
		}
		if err := l.takeChunk(ctx, rows[:chunk]); err != nil {
			return err
		}
		rows = rows[chunk:]
	}
	return nil
}

func (l *lister) takeChunk(ctx context.Context, rows []engine.Row) error {
	objects, err := l.resource.objects(ctx, rows)
	if err != nil {
		return err
	}
	for i, object := range objects {
		if l.full() {
			l.more = true
			return nil
		}
		l.lastKey = rows[i].Key
		// An object whose labels and fields can't be told matches nothing.
		if matched, err := l.options.Predicate.Matches(object); err == nil && matched {
			l.items.Set(reflect.Append(l.items, reflect.ValueOf(object).Elem()))
		}
	}
	return nil
}

// grow makes room for what n more rows are likely to add.
func (l *lister) grow(n int) {
	if l.items.Cap()-l.items.Len() >= n {
		return
	}
	grown := reflect.MakeSlice(l.items.Type(), l.items.Len(), l.items.Len()+l.expected(n))
	reflect.Copy(grown, l.items)
	l.items.Set(grown)
}

// expected guesses how many of n rows will be taken, to allocate for.
func (l *lister) expected(n int) int {
	if l.options.Predicate.Empty() {
		return max(n, l.items.Len()/2)
	}
	return min(n, 64)
}

// current returns the present revision for an error message, 0 if unknown.
func (l *lister) current(ctx context.Context) engine.Revision {
	state, err := l.resource.store.engine.State(ctx)
	if err != nil {
		return 0
	}
	return state.Revision
}

// continueKeyFor returns the key that an inconsistent continue token starts
// at when q fails, "" for a list that has not been promised a revision.
func (l *lister) continueKeyFor(q engine.Query) string {
	switch {
	case l.continueKey == "":
		return ""
	case l.lastKey != "":
		return l.resource.config.Prefix + q.After + "\x00"
	}
	return l.continueKey
}

func (l *lister) continueToken() (string, *int64, error) {
	if l.more && l.options.Predicate.Empty() {
		l.resource.store.counts.put(l.place(l.revision, l.lastKey), l.remaining)
	}
	// Without a limit the list goes on to its end, so more is never left.
	count := l.remaining + l.limit()
	token, remaining, err := storage.PrepareContinueToken(
		l.resource.config.Prefix+l.lastKey, l.keyPrefix, int64(l.revision), count, l.more, l.options)
	if l.remaining < 0 {
		remaining = nil // Nobody counted that far.
	}
	return token, remaining, err
}

// objects decodes rows, on several cores when it is worth it. They are shared
// and not to be changed.
func (r *Resource) objects(ctx context.Context, rows []engine.Row) ([]runtime.Object, error) {
	objects := make([]runtime.Object, len(rows))
	decode := func(from, to int) error {
		for i := from; i < to; i++ {
			if ctx.Err() != nil {
				return storage.NewTimeoutError(rows[i].Key, "request did not complete within requested timeout")
			}
			var err error
			if objects[i], err = r.object(ctx, rows[i], r.store.cache.offer); err != nil {
				return err
			}
			rows[i].Data = nil
		}
		return nil
	}
	workers := goruntime.GOMAXPROCS(0)
	if len(rows) < parallelDecode || workers == 1 {
		return objects, decode(0, len(rows))
	}
	var group errgroup.Group
	for w := range workers {
		group.Go(func() error { return decode(len(rows)*w/workers, len(rows)*(w+1)/workers) })
	}
	return objects, group.Wait()
}
