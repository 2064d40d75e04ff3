// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// many is more objects than are sorted for a page.
const many = 12_000

// TestManyMatches lists by conditions that more objects meet than are ever sorted, with more values than one
// statement merges, page by page, now and at a revision of the past.
func TestManyMatches(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	e := open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main"})
	terms := map[string][]engine.Term{}
	for n := 0; n < many; {
		var ops []engine.Op
		for range 1000 {
			key := fmt.Sprintf("ns-%d/%05d", n%3, n*7919%many)
			terms[key] = []engine.Term{{Name: 1, Value: 1}, {Name: 2, Value: int64(n % 300)}, {Name: 3, Value: int64(n)}}
			if n%40 == 0 {
				terms[key] = append(terms[key], engine.Term{Name: 4, Value: int64(n % 7)}, engine.Term{Name: 4, Value: 8})
			}
			ops = append(ops, engine.Op{Kind: engine.Create, Resource: "/reports/", Key: key, Index: terms[key]})
			n++
		}
		commit(t, e, ops)
	}
	at := commit(t, e, []engine.Op{{Kind: engine.Create, Resource: "/reports/", Key: "other"}}).State.Revision
	commit(t, e, []engine.Op{{Kind: engine.Delete, Resource: "/reports/", Key: "other", Expect: at}})

	values := make([]int64, 120)
	for i := range values {
		values[i] = int64(i * 2)
	}
	for _, conditions := range [][]engine.Condition{
		{{Name: 1}},
		{{Name: 1}, {Name: 2, Values: values}},
		{{Name: 1, Values: []int64{1}}},
		{{Name: 1, Values: []int64{1}}, {Name: 3}},
		{{Name: 2, Values: values}},
		{{Name: 3}, {Name: 4}},
		{{Name: 3}},
		{{Name: 4}},
		{{Name: 4, Values: []int64{1, 2, 8}}, {Name: 2, Values: values}, {Name: 1}},
		{{Name: 5}, {Name: 1, Values: []int64{1}}},
	} {
		var want []string
		for key, terms := range terms {
			if enginetest.Matches(terms, conditions) {
				want = append(want, key)
			}
		}
		slices.Sort(want)
		for _, q := range []engine.Query{
			{}, {Limit: 700}, {Prefix: "ns-1/", Limit: 300}, {At: at, Limit: 900}, {At: at, Prefix: "ns-2/"},
		} {
			q.Resource, q.Conditions = "/reports/", conditions
			want := slices.DeleteFunc(slices.Clone(want), func(key string) bool { return !strings.HasPrefix(key, q.Prefix) })
			if got := withoutOther(keysOfPages(t, e, q)); !slices.Equal(got, want) {
				t.Errorf("%+v: %d keys, want %d", q, len(got), len(want))
			}
		}
	}
}

// withoutOther leaves out what a list of the past may have whether it matches or not.
func withoutOther(keys []string) []string {
	return slices.DeleteFunc(keys, func(key string) bool { return key == "other" })
}

// keysOfPages lists all pages.
func keysOfPages(t *testing.T, e engine.Engine, q engine.Query) (keys []string) {
	t.Helper()
	for {
		page := testkit.Must(e.List(t.Context(), q))(t)
		for _, row := range page.Rows {
			keys = append(keys, row.Key)
		}
		if !page.More {
			return keys
		}
		q.After = keys[len(keys)-1]
	}
}
