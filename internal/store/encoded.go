// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"iter"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/store/codec"
	"github.com/docket-project/docket/internal/store/engine"
)

// EncodedObject is what Get fills with an object's JSON instead of decoding it.
type EncodedObject interface {
	runtime.Object
	// SetJSON sets the object as it is served. The bytes belong to it from then on.
	SetJSON(data []byte)
}

// EncodedList is what GetList fills with the JSON of objects instead of decoding them. Where a list has no limit and
// more than one page, what follows the first one is read when rest is called, at the revision of the list, each time
// from the beginning; rest must be done before the context of GetList is.
type EncodedList interface {
	runtime.Object
	// SetItems sets the objects as they are served. rest is nil for none.
	SetItems(first [][]byte, rest iter.Seq2[[][]byte, error])
}

// ShapedList is an EncodedList that has something smaller in place of objects.
type ShapedList interface {
	EncodedList
	// Shape returns what the list has in place of an object, which is given as it is served. It is called from several
	// goroutines, and what it returns shares nothing with the object.
	Shape(object []byte) ([]byte, error)
}

// VersionAdder is a codec for which objects are served as they are stored, except for the resourceVersion. Without one,
// EncodedObject and EncodedList can't be used.
type VersionAdder interface {
	runtime.Codec
	// AddVersion returns what is served for what was stored, in the same memory if it has room for VersionRoom bytes
	// more. It returns false, with stored as it was, if the object has to be decoded, and encoded, to know that.
	AddVersion(stored []byte, version uint64) ([]byte, bool)
}

// ServesEncoded reports whether Get and GetList take an EncodedObject and an EncodedList.
func (r *Resource) ServesEncoded() bool {
	_, ok := r.config.Codec.(VersionAdder)
	return ok
}

// VersionRoom is more than a resourceVersion takes as JSON.
const VersionRoom = 48

// encoded returns the JSON of a row as it is served, in the memory of room if that suffices.
func (r *Resource) encoded(ctx context.Context, row engine.Row, room []byte) ([]byte, error) {
	data, err := r.unpackInto(ctx, row, room)
	if err != nil {
		return nil, err
	}
	return r.served(data, row.Revision)
}

func (r *Resource) unpackInto(ctx context.Context, row engine.Row, room []byte) ([]byte, error) {
	if r.transformer != nil {
		data, _, err := r.unpack(ctx, row.Key, row.Value)
		return slices.Clone(data), err
	}
	data, err := r.store.codec.AppendUnpacked(room[:0], row.Value)
	if err != nil {
		return nil, r.corrupt(row.Key, err)
	}
	return data, nil
}

// roomOf is how much memory the JSON of a row takes.
func roomOf(row engine.Row) int { return codec.SizeOf(row.Value) + VersionRoom }

// served returns what is served for what was stored.
func (r *Resource) served(stored []byte, revision engine.Revision) ([]byte, error) {
	if adder, ok := r.config.Codec.(VersionAdder); ok {
		if data, ok := adder.AddVersion(stored, uint64(revision)); ok {
			return data, nil
		}
	}
	object, err := r.decode(stored, revision)
	if err != nil {
		return nil, err
	}
	return runtime.Encode(r.config.Codec, object)
}

const (
	// streamedPage is how many rows a list without a limit, and a watch that begins with all objects, reads at once, as
	// long as they are below streamedBytes as JSON: what is in memory of each.
	streamedPage  = 128
	streamedBytes = 1 << 20
)

// pageSize is how many rows of a resource to read at once. The zero value is streamedPage.
type pageSize struct{ known atomic.Int64 }

func (p *pageSize) rows() int {
	if rows := int(p.known.Load()); rows > 0 {
		return rows
	}
	return streamedPage
}

// saw learns from a page how large rows are.
func (p *pageSize) saw(page []engine.Row) {
	size := 0
	for _, row := range page {
		size += codec.SizeOf(row.Value)
	}
	if size > 0 {
		p.known.Store(int64(min(max(streamedBytes*len(page)/size, 1), streamedPage)))
	}
}

// encodedItems are the objects of an EncodedList.
type encodedItems struct {
	resource *Resource
	list     EncodedList
	// matches is nil if all objects do.
	matches func(runtime.Object) bool
	// shape is ShapedList.Shape, nil for other lists.
	shape func(object []byte) ([]byte, error)
	items [][]byte
	// page has the memory of items if those are of one page only.
	page   []byte
	paging bool
}

func newEncodedItems(r *Resource, list EncodedList, predicate storage.SelectionPredicate) *encodedItems {
	e := &encodedItems{resource: r, list: list}
	if !predicate.Empty() || predicate.ShardSelector != nil {
		e.matches = func(object runtime.Object) bool { return matches(predicate, object) }
	}
	if shaped, ok := list.(ShapedList); ok {
		e.shape = shaped.Shape
	}
	return e
}

func (e *encodedItems) len() int { return len(e.items) }

func (e *encodedItems) take(ctx context.Context, rows []engine.Row) (func(i int), error) {
	found := e.rooms(rows)
	err := eachRow(ctx, rows, func(i int) (err error) {
		found[i], err = e.encode(ctx, rows[i], found[i])
		return err
	})
	return func(i int) {
		if found[i] != nil {
			e.items = append(e.items, found[i])
		}
	}, err
}

// rooms returns memory for the JSON of each row. Where objects may not match, or are not kept, nobody knows how much
// will be kept.
func (e *encodedItems) rooms(rows []engine.Row) [][]byte {
	rooms := make([][]byte, len(rows))
	if e.shape != nil || e.matches != nil && !e.paging {
		return rooms
	}
	size := 0
	for i := range rows {
		size += roomOf(rows[i])
	}
	page := e.page
	if cap(page) < size {
		page = make([]byte, size)
	}
	if e.paging {
		e.page = page
	}
	for i := range rows {
		room := roomOf(rows[i])
		rooms[i], page = page[:room:room], page[room:]
	}
	return rooms
}

// encode returns what the list has for a row, nil if the object doesn't match.
func (e *encodedItems) encode(ctx context.Context, row engine.Row, room []byte) ([]byte, error) {
	if e.shape == nil {
		return e.served(ctx, row, room)
	}
	shared, _ := shapingRooms.Get().(*[]byte)
	defer shapingRooms.Put(shared)
	if cap(*shared) < roomOf(row) {
		*shared = make([]byte, 0, roomOf(row))
	}
	data, err := e.served(ctx, row, *shared)
	if err != nil || data == nil {
		return nil, err
	}
	item, err := e.shape(data)
	if err != nil {
		return nil, &corruptError{err}
	}
	return item, nil
}

// shapingRooms are memory for objects of which something smaller is made at once.
//
// That all lists share it is its purpose.
var shapingRooms = sync.Pool{New: func() any { return new([]byte) }}

// served returns the JSON of a row, nil if the object doesn't match.
func (e *encodedItems) served(ctx context.Context, row engine.Row, room []byte) ([]byte, error) {
	if room == nil {
		room = make([]byte, 0, roomOf(row))
	}
	if e.matches == nil {
		return e.resource.encoded(ctx, row, room)
	}
	data, err := e.resource.unpackInto(ctx, row, room)
	if err != nil {
		return nil, err
	}
	object, err := e.resource.decode(data, row.Revision)
	if err != nil || !e.matches(object) {
		return nil, err
	}
	return e.resource.served(data, row.Revision)
}

func (e *encodedItems) finish(rest iter.Seq2[[][]byte, error]) {
	e.list.SetItems(e.items, rest)
}

// rest yields what follows the first page of a list, which it is called for with the query of the next one.
func (l *lister) rest(ctx context.Context, from engine.Query) iter.Seq2[[][]byte, error] {
	first, ok := l.into.(*encodedItems)
	if !ok {
		return nil
	}
	return func(yield func([][]byte, error) bool) {
		follower := *l
		into := &encodedItems{resource: l.resource, matches: first.matches, shape: first.shape, paging: true}
		follower.into = into
		reader := reader{readers: &l.resource.store.readers}
		reader.needs(l.revision)
		defer reader.end()
		q := from
		for follower.more = true; follower.more; q = follower.next(q) {
			into.items = into.items[:0]
			q.Limit = l.resource.streaming.rows()
			if err := follower.page(ctx, q); !yield(into.items, err) || err != nil {
				return
			}
		}
	}
}

// matches reports whether an object is selected. One whose labels and fields can't be told matches nothing. Fields are
// looked at only if it takes them: for some, the whole object has to be read.
func matches(predicate storage.SelectionPredicate, object runtime.Object) bool {
	if (predicate.Field == nil || predicate.Field.Empty()) && predicate.ShardSelector == nil {
		accessor, err := meta.Accessor(object)
		return err == nil && (predicate.Label == nil || predicate.Label.Matches(labels.Set(accessor.GetLabels())))
	}
	matched, err := predicate.Matches(object)
	return err == nil && matched
}

// eachRow calls do with the place of each row, on several cores when it is worth it, and gives back the row's data.
func eachRow(ctx context.Context, rows []engine.Row, do func(i int) error) error {
	some := func(from, to int) error {
		for i := from; i < to; i++ {
			if ctx.Err() != nil {
				return storage.NewTimeoutError(rows[i].Key, "request did not complete within requested timeout")
			}
			if err := do(i); err != nil {
				return err
			}
			rows[i].Data = nil
		}
		return nil
	}
	n, workers := len(rows), goruntime.GOMAXPROCS(0)
	if n < parallelDecode || workers == 1 {
		return some(0, n)
	}
	var group errgroup.Group
	for w := range workers {
		group.Go(func() error { return some(n*w/workers, n*(w+1)/workers) })
	}
	return group.Wait()
}
