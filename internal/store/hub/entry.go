// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package hub

import (
	"sync"
	"sync/atomic"

	"github.com/docket-project/docket/internal/store/engine"
)

// entryOverhead is what an event costs beside its values, in bytes: the entry, its key and its place in the ring.
const entryOverhead = 400

// Entry is an event in memory, shared by all watchers. T is what they decode it to.
type Entry[T any] struct {
	engine.Event
	form atomic.Pointer[form[T]]
	// forms is set before watchers see the entry.
	forms *forms[T]
}

// NewEntry returns an entry of an event.
func NewEntry[T any](event engine.Event) *Entry[T] { return &Entry[T]{Event: event} }

// Decoded returns what decode returned when it was called for the first time:
// watchers share one decoded event, as long as there is room for it.
func (e *Entry[T]) Decoded(decode func(*Entry[T]) *T) *T {
	for {
		if f := e.form.Load(); f != nil {
			return f.value
		}
		f := &form[T]{value: decode(e)}
		if e.form.CompareAndSwap(nil, f) {
			return f.value
		}
	}
}

// Charge says that a value, which Decoded returned, takes so many bytes more.
func (e *Entry[T]) Charge(value *T, bytes int64) {
	if e.forms != nil {
		e.forms.charge(e, value, bytes)
	}
}

// Cost is about how many bytes the entry takes without its decoded form.
func (e *Entry[T]) Cost() int64 {
	return entryOverhead + int64(len(e.Key)) + int64(len(e.Value.Data)+len(e.Previous.Data))
}

// form is a decoded event.
type form[T any] struct {
	value *T
	// bytes that were charged; of forms.
	bytes int64
}

// forms bounds what decoded events take. The oldest are forgotten first: who needs one again decodes it again.
type forms[T any] struct {
	limit int64

	mu    sync.Mutex
	bytes int64
	// kept are those that were charged, the oldest first.
	kept []keptForm[T]
}

type keptForm[T any] struct {
	entry *Entry[T]
	form  *form[T]
}

func (f *forms[T]) charge(e *Entry[T], value *T, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	charged := e.form.Load()
	if charged == nil || charged.value != value || bytes <= 0 {
		return // Forgotten meanwhile: it is not the hub's any more.
	}
	if charged.bytes == 0 {
		f.kept = append(f.kept, keptForm[T]{e, charged})
	}
	charged.bytes += bytes
	f.bytes += bytes
	for f.bytes > f.limit && len(f.kept) > 1 {
		oldest := f.kept[0]
		f.kept[0] = keptForm[T]{}
		f.kept = f.kept[1:]
		f.bytes -= oldest.form.bytes
		oldest.entry.form.CompareAndSwap(oldest.form, nil)
	}
}

func (f *forms[T]) size() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes
}
