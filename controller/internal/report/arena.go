// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

// arena has the results of a layout. There may be millions, so that they refer to subjects and chunks, and these
// to them, by handles: with pointers, and objects of their own, following them would be most of what the garbage
// collector does.
type arena struct {
	records  slab[record]
	subjects slab[*subject]
	chunks   slab[*chunk]
}

// handle identifies a value of a slab; 0 is none.
type handle uint32

func (a *arena) subject(r *record) *subject { return *a.subjects.at(r.subject) }

func (a *arena) chunk(r *record) *chunk { return *a.chunks.at(r.chunk) }

// size is an upper bound of the size of a record as JSON in bytes, without the presentation of the policy.
func (a *arena) size(r *record) int { return int(r.text.Value().size) + a.subject(r).size }

func (a *arena) pair(r *record) pair {
	return pair{policy: r.owner().id, namespace: a.subject(r).namespace()}
}

// slabPage is the number of values in a page.
const slabPage = 1024

// slab has values by their handles. They don't move.
type slab[T any] struct {
	pages []*[slabPage]T
	// used is the number of places that have had a value, and the first one. free are those without one now.
	used int
	free []handle
}

func (s *slab[T]) at(h handle) *T { return &s.pages[h/slabPage][h%slabPage] }

func (s *slab[T]) add(value T) handle {
	if last := len(s.free) - 1; last >= 0 {
		h := s.free[last]
		s.free = s.free[:last]
		*s.at(h) = value
		return h
	}
	s.used = max(s.used, 1)
	if s.used >= len(s.pages)*slabPage {
		s.pages = append(s.pages, new([slabPage]T))
	}
	h := handle(s.used)
	s.used++
	*s.at(h) = value
	return h
}

// drop forgets values. Their memory is used for others, and is free once there are none.
func (s *slab[T]) drop(handles ...handle) {
	for _, h := range handles {
		var none T
		*s.at(h) = none
	}
	s.free = append(s.free, handles...)
	if len(s.free) == s.used-1 {
		*s = slab[T]{}
	}
}
