// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import "testing"

// TestSlab: values keep their place while others come and go, no two have the same, and the memory of the last
// one is free.
func TestSlab(t *testing.T) {
	t.Parallel()
	var s slab[int]
	const n = 3*slabPage + 7
	handles := make([]handle, n)
	for i := range handles {
		handles[i] = s.add(i)
	}
	for i := 0; i < n; i += 2 {
		s.drop(handles[i])
	}
	pages := len(s.pages)
	for i := 0; i < n; i += 2 {
		handles[i] = s.add(i)
	}
	if len(s.pages) != pages {
		t.Errorf("%d pages became %d, though half of the values had gone", pages, len(s.pages))
	}
	for i, h := range handles {
		if h == 0 || *s.at(h) != i {
			t.Fatalf("value %d is %d, with the handle %d", i, *s.at(h), h)
		}
	}
	s.drop(handles...)
	if s.pages != nil {
		t.Error("an empty slab keeps its memory")
	}
	if h := s.add(1); h == 0 || *s.at(h) != 1 {
		t.Error("it can't be used again")
	}
}
