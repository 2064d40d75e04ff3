// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

// Large objects are derived one by one, small ones together.
func TestChunks(t *testing.T) {
	t.Parallel()
	rows := make([]engine.Row, 6)
	for i, size := range []int32{deriveBytes * 3, 10, 20, deriveBytes - 20, deriveBytes, 1} {
		rows[i].Size = size
	}
	var got []int
	for chunk := range chunks(rows) {
		got = append(got, len(chunk))
	}
	testkit.NoDiff(t, cmp.Diff([]int{1, 2, 1, 1, 1}, got), "rows of each chunk (-want +got)")
}

// Terms are stored: those of labels and fields stay what they are.
func TestTermsStayTheSame(t *testing.T) {
	t.Parallel()
	got := newIndexer([]string{"scope.uid"}).terms(
		labels.Set{"team": "a", "empty": "", "long": strings.Repeat("x", 63)}, fields.Set{"scope.uid": "team", "metadata.name": "n"})
	want := []engine.Term{
		{Name: -5287524843006055295, Value: -6307702377367403981},
		{Name: -2016251384249790218, Value: -5168307219436131256},
		{Name: 1412733061890673626, Value: -3292477735350538661},
		{Name: 4013080601706306514, Value: -1205034819632174695},
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "terms (-want +got)")
}

// Every selector finds through the index what it matches, and maybe more.
func TestConditionsOnlyNarrow(t *testing.T) {
	t.Parallel()
	x := newIndexer([]string{"scope.uid"})
	objects := []struct {
		labels labels.Set
		fields fields.Set
	}{
		{labels.Set{"a": "1"}, fields.Set{"scope.uid": "u1"}},
		{labels.Set{"a": "2", "b": "1"}, fields.Set{"scope.uid": ""}},
		{labels.Set{"a": "", "scope.uid": "u1"}, fields.Set{}},
		{nil, nil},
	}
	for _, c := range []struct {
		labels, fields string
		// conditions that the index can serve.
		conditions int
	}{
		{"", "", 0},
		{"a=1", "", 1},
		{"a==2,b", "", 2},
		{"a in (1,2)", "", 1},
		{"a=", "", 1},
		{"a!=1", "", 0},
		{"a notin (1,2)", "", 0},
		{"!b", "", 0},
		{"a>1", "", 0},
		{"", "scope.uid=u1", 1},
		{"", "scope.uid=", 0},
		{"", "scope.uid!=u1", 0},
		{"", "metadata.name=x", 0},
		{"a=1", "scope.uid=u1", 2},
	} {
		label := testkit.Must(labels.Parse(c.labels))(t)
		field := testkit.Must(fields.ParseSelector(c.fields))(t)
		conditions := x.conditions(storage.SelectionPredicate{Label: label, Field: field})
		if len(conditions) != c.conditions {
			t.Errorf("%q %q: %d conditions, want %d", c.labels, c.fields, len(conditions), c.conditions)
		}
		for _, o := range objects {
			matches := label.Matches(o.labels) && field.Matches(o.fields)
			if found := enginetest.Matches(x.terms(o.labels, o.fields), conditions); matches && !found {
				t.Errorf("%q %q doesn't find %v %v", c.labels, c.fields, o.labels, o.fields)
			}
		}
	}
}

// Hashes are stored: these must never change.
func TestHashIsStable(t *testing.T) {
	t.Parallel()
	want := []engine.Term{{Name: -3169229156261313839, Value: -887738234412377844}}
	got := newIndexer(nil).terms(labels.Set{"app": "web"}, nil)
	testkit.NoDiff(t, cmp.Diff(want, got), "terms (-want +got)")
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newObjectCache(100_000)
	key := func(i int) cacheKey { return cacheKey{"/r/", string(rune('a' + i))} }
	put := func(i int, revision engine.Revision) { c.put(key(i), revision, &example.Pod{}, 1000) }
	for i := range 26 {
		put(i, 1)
	}
	if got := c.stats(); got.bytes > 100_000 || got.objects < 20 {
		t.Errorf("cache holds %d objects of %d bytes, limit 100000", got.objects, got.bytes)
	}
	if c.get(key(0), 1) != nil || c.get(key(25), 1) == nil {
		t.Error("the least recently used object stayed, or the latest went")
	}
	before := c.stats()
	c.offer(key(0), 1, &example.Pod{}, 5000)
	if c.get(key(0), 1) != nil || c.stats() != before {
		t.Error("an offered object pushed out others")
	}
	put(25, 3)
	put(25, 2)
	if c.get(key(25), 1) != nil || c.get(key(25), 2) != nil || c.get(key(25), 3) == nil {
		t.Error("the cache serves an object at another revision than its own, or an older one replaced it")
	}
	c.put(key(1), 9, &example.Pod{}, 50_000)
	if c.get(key(1), 9) != nil {
		t.Error("one object took most of the cache")
	}
	c.clear()
	if got := c.stats(); got != (cacheStats{}) {
		t.Errorf("after clear: %+v", got)
	}
}

// FuzzContinue: whatever a client sends as a continue token gives a page or an
// error about the token.
func FuzzContinue(f *testing.F) {
	for _, start := range []string{"ns/pod\x00", "", "ns/pod", "../x", "\x00", "ns/\xff\xfe"} {
		token, err := storage.EncodeContinue("/pods/"+start, "/pods/", 5)
		if err == nil {
			f.Add(token)
		}
	}
	f.Add("garbage")
	f.Fuzz(func(t *testing.T, token string) {
		key, _, err := storage.DecodeContinue(token, "/pods/")
		if err != nil {
			return
		}
		after, inclusive := startKey(key[len("/pods/"):])
		if !inclusive && after+"\x00" != key[len("/pods/"):] || inclusive && after != key[len("/pods/"):] {
			t.Errorf("start key %q became %q, inclusive %t", key, after, inclusive)
		}
	})
}

// TestPageSize: a list without a limit, or a watch from the beginning, reads as many rows at once as there is room for.
func TestPageSize(t *testing.T) {
	t.Parallel()
	var p pageSize
	for _, step := range []struct{ rows, size, want int }{
		{0, 0, streamedPage}, {128, 7 << 10, streamedPage}, {128, 256 << 10, 4}, {0, 0, 4}, {4, 3 << 20, 1}, {1, 100, streamedPage},
	} {
		page := make([]engine.Row, step.rows)
		for i := range page {
			page[i].Size = int32(step.size)
		}
		p.saw(page)
		if got := p.rows(); got != step.want {
			t.Errorf("after %d rows of %d bytes: %d, want %d", step.rows, step.size, got, step.want)
		}
	}
	r := &Resource{store: &Store{}}
	r.streaming.saw([]engine.Row{{Value: engine.Value{Size: streamedBytes / 3}}})
	everything := storage.ListOptions{Recursive: true, Predicate: storage.Everything}
	if q := (&watcher{resource: r, options: everything}).snapshot(); q.Limit != 3 {
		t.Errorf("a watch reads %d objects at once, want 3", q.Limit)
	}
	if q := (&lister{resource: r, options: everything, into: &encodedItems{}}).query(); q.Limit != 3 {
		t.Errorf("a list reads %d objects at once, want 3", q.Limit)
	}
}
