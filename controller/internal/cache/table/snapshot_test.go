// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"cmp"
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// all returns the objects of a snapshot.
func (s *snapshot) all() []*Packed {
	var all []*Packed
	for _, c := range s.chunks {
		all = append(all, c.objects...)
	}
	return all
}

func TestSnapshotsAreInOrderAndStayWhatTheyAre(t *testing.T) {
	t.Parallel()
	m := made{rand.New(rand.NewSource(1))}
	s, want := &snapshot{}, map[string]*Packed{}
	type kept struct {
		at  *snapshot
		all []*Packed
	}
	var old []kept
	for i := range 6000 {
		namespace, name := pick(m, "", "a", "a-b", "b"), fmt.Sprint(m.Intn(900))
		key := namespace + "/" + name
		if known := want[key]; known != nil && (m.Intn(2) == 0 || i%2000 > 1700) {
			s = s.without(namespace, name)
			delete(want, key)
		} else {
			want[key] = &Packed{namespace: namespace, name: name, data: fmt.Sprint(i)}
			s = s.with(want[key])
		}
		if i%500 != 0 && i != 1999 {
			continue
		}
		got := s.all()
		if len(got) != len(want) || s.count != len(want) {
			t.Fatalf("%d objects, count %d, want %d", len(got), s.count, len(want))
		}
		bytes := int64(0)
		for _, object := range got {
			bytes += object.Size()
			if want[object.namespace+"/"+object.name] != object || s.get(object.namespace, object.name) != object {
				t.Fatalf("%s/%s is not the object that was put", object.namespace, object.name)
			}
		}
		if bytes != s.bytes {
			t.Fatalf("%d bytes, want %d", s.bytes, bytes)
		}
		if !slices.IsSortedFunc(got, func(a, b *Packed) int {
			return cmp.Compare(a.namespace+"/"+a.name, b.namespace+"/"+b.name)
		}) {
			t.Fatal("not in the order of etcd")
		}
		old = append(old, kept{s, got})
	}
	for i, k := range old {
		if !slices.Equal(k.at.all(), k.all) {
			t.Fatal("a snapshot has changed")
		}
		for _, other := range old[max(0, i-2):] {
			applied(t, k.at, other.at)
		}
	}
}

// applied checks that differences make of one snapshot the other.
func applied(t *testing.T, before, after *snapshot) {
	t.Helper()
	old, got, at := before.all(), []*Packed{}, 0
	for _, run := range differences(before, after) {
		got = append(got, old[at:run.from]...)
		at = run.from + len(run.before)
		if !slices.Equal(old[run.from:at], run.before) {
			t.Fatal("a difference is not about what it says")
		}
		testkit.NoError(t, run.each(func(was, is *Packed) error {
			if was != nil && is != nil && compareObjects(was, is) != 0 {
				t.Fatal("two objects are taken for one")
			}
			if is != nil {
				got = append(got, is)
			}
			return nil
		}))
	}
	if got = append(got, old[at:]...); !slices.Equal(got, after.all()) {
		t.Fatal("differences don't make the one of the other")
	}
}

func TestOneChangeCopiesOneChunk(t *testing.T) {
	t.Parallel()
	s := &snapshot{}
	for i := range 20000 {
		s = s.with(&Packed{name: fmt.Sprintf("%05d", i)})
	}
	next := s.with(&Packed{name: "12345"})
	same := 0
	for _, c := range next.chunks {
		if slices.Contains(s.chunks, c) {
			same++
		}
		if len(c.objects) > chunkSize || len(c.objects) == 0 {
			t.Errorf("a chunk of %d", len(c.objects))
		}
	}
	if same != len(s.chunks)-1 || len(s.chunks) > 200 {
		t.Errorf("%d of %d chunks are shared", same, len(s.chunks))
	}
	for _, pair := range [][2]*snapshot{{s, next}, {next, s}, {s, s.with(&Packed{name: "12345b"})}, {s, s.without("", "12345")}} {
		runs := differences(pair[0], pair[1])
		if len(runs) != 1 || len(runs[0].before) > chunkSize || len(runs[0].after) > chunkSize {
			t.Errorf("one change is %d differences, or a large one", len(runs))
		}
	}
	for i := range 19990 {
		s = s.without("", fmt.Sprintf("%05d", i))
	}
	if len(s.chunks) > 2 || s.count != 10 {
		t.Errorf("%d chunks of %d objects are left", len(s.chunks), s.count)
	}
}
