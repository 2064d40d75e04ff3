// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"
	"iter"
	"reflect"

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
	// decodeChunk is how many rows are decoded at least while a selector leaves open how many will do.
	decodeChunk = 64
)

// GetList implements storage.Interface.
func (r *Resource) GetList(ctx context.Context, key string, opts storage.ListOptions, listObj runtime.Object) (err error) {
	key, err = r.prepareKey(key, opts.Recursive)
	if err != nil {
		return err
	}
	defer r.observe("list", &err)()
	into, err := r.collect(listObj, opts.Predicate)
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
		resource: r, keyPrefix: key, options: opts, into: into,
		revision: engine.Revision(withRev), continueKey: continueKey, before: -1,
	}
	if err := l.run(ctx); err != nil {
		return err
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

// collector keeps the objects of a list.
type collector interface {
	// take looks at rows, and returns what adds the object of one of them, in order, if it is selected.
	take(ctx context.Context, rows []engine.Row) (add func(i int), err error)
	// len is how many objects there are.
	len() int
	// finish gives the list its objects, and what yields those that it is to read itself.
	finish(rest iter.Seq2[[][]byte, error])
}

// collect returns what fills a list.
func (r *Resource) collect(list runtime.Object, predicate storage.SelectionPredicate) (collector, error) {
	if encoded, ok := list.(EncodedList); ok {
		return newEncodedItems(r, encoded, predicate), nil
	}
	pointer, err := meta.GetItemsPtr(list)
	if err != nil {
		return nil, err
	}
	items, err := conversion.EnforcePtr(pointer)
	if err != nil || items.Kind() != reflect.Slice {
		return nil, fmt.Errorf("need a pointer to a slice: %w", err)
	}
	return &decodedItems{resource: r, predicate: predicate, items: items}, nil
}

// lister fills a list with the objects of one snapshot, page by page.
type lister struct {
	resource    *Resource
	keyPrefix   string
	options     storage.ListOptions
	into        collector
	revision    engine.Revision
	continueKey string

	// lastKey is the key of the last row that was looked at.
	lastKey string
	more    bool
	// remaining rows after lastKey, -1 for too many to count; only with an empty predicate and a limit.
	remaining int64
	// before is how many rows were left before this page, if the page before says so; else -1.
	before int64
}

func (l *lister) limit() int64 { return l.options.Predicate.Limit }

func (l *lister) full() bool { return l.limit() > 0 && int64(l.into.len()) >= l.limit() }

// run fills the list. One without a limit that can read on by itself gets its first page only.
func (l *lister) run(ctx context.Context) error {
	q := l.query()
	reader := reader{readers: &l.resource.store.readers}
	defer reader.end()
	for {
		if err := l.page(ctx, q); err != nil {
			return err
		}
		if !l.more || l.full() {
			l.into.finish(nil)
			return nil
		}
		next := l.next(q)
		if l.limit() == 0 {
			if rest := l.rest(ctx, next); rest != nil {
				l.into.finish(rest)
				l.more = false // What follows comes with this list.
				return nil
			}
		}
		reader.needs(l.revision)
		q = next
	}
}

// page reads and takes one page.
func (l *lister) page(ctx context.Context, q engine.Query) error {
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
	l.resource.streaming.saw(page.Rows)
	return l.take(ctx, page.Rows)
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
	if _, reads := l.into.(*encodedItems); reads && l.limit() == 0 {
		q.Limit = r.streaming.rows()
	}
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

// take appends the rows that match until the list is full. Rows beyond what a limit can need are not decoded, except
// the rest of a chunk.
func (l *lister) take(ctx context.Context, rows []engine.Row) error {
	for len(rows) > 0 {
		if l.full() {
			l.more = true
			return nil
		}
		chunk := len(rows)
		if l.limit() > 0 {
			chunk = min(chunk, max(int(l.limit())-l.into.len(), decodeChunk))
		}
		if err := l.takeChunk(ctx, rows[:chunk]); err != nil {
			return err
		}
		rows = rows[chunk:]
	}
	return nil
}

func (l *lister) takeChunk(ctx context.Context, rows []engine.Row) error {
	add, err := l.into.take(ctx, rows)
	if err != nil {
		return err
	}
	for i := range rows {
		if l.full() {
			l.more = true
			return nil
		}
		l.lastKey = rows[i].Key
		add(i)
	}
	return nil
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

// decodedItems are the objects of a list as Go values.
type decodedItems struct {
	resource  *Resource
	predicate storage.SelectionPredicate
	items     reflect.Value
}

func (d *decodedItems) len() int { return d.items.Len() }

func (d *decodedItems) take(ctx context.Context, rows []engine.Row) (func(i int), error) {
	d.grow(len(rows))
	objects, err := d.resource.objects(ctx, rows)
	return func(i int) {
		if matches(d.predicate, objects[i]) {
			d.items.Set(reflect.Append(d.items, reflect.ValueOf(objects[i]).Elem()))
		}
	}, err
}

// grow makes room for what n more rows are likely to add.
func (d *decodedItems) grow(n int) {
	if d.items.Cap()-d.items.Len() >= n {
		return
	}
	grown := reflect.MakeSlice(d.items.Type(), d.items.Len(), d.items.Len()+d.expected(n))
	reflect.Copy(grown, d.items)
	d.items.Set(grown)
}

// expected guesses how many of n rows will be taken, to allocate for.
func (d *decodedItems) expected(n int) int {
	if d.predicate.Empty() {
		return max(n, d.items.Len()/2)
	}
	return min(n, 64)
}

func (d *decodedItems) finish(iter.Seq2[[][]byte, error]) {
	if d.items.IsNil() {
		d.items.Set(reflect.MakeSlice(d.items.Type(), 0, 0))
	}
}

// objects decodes rows, on several cores when it is worth it. They are shared and not to be changed.
func (r *Resource) objects(ctx context.Context, rows []engine.Row) ([]runtime.Object, error) {
	objects := make([]runtime.Object, len(rows))
	return objects, eachRow(ctx, rows, func(i int) (err error) {
		objects[i], err = r.object(ctx, rows[i], r.store.cache.offer)
		return err
	})
}
