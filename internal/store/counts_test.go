// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"testing"

	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// TestRemainingOfMany: pages tell how many objects are left as far as that is known without counting very many.
func TestRemainingOfMany(t *testing.T) {
	t.Parallel()
	e := openModel(t)
	r := newReportsOn(t, e)
	r.create(t, "first")
	const resource = "/wgpolicyk8s.io/policyreports/"
	row, _, err := e.Get(t.Context(), resource, "ns/first")
	if err != nil || row == nil {
		t.Fatalf("%v, %v", row, err)
	}
	ops := make([]engine.Op, engine.CountCap+100)
	for i := range ops {
		ops[i] = engine.Op{Kind: engine.Create, Resource: resource, Key: fmt.Sprintf("ns/more-%06d", i), Value: row.Value}
	}
	testkit.Must(e.Commit(t.Context(), ops))(t)
	all := int64(len(ops) + 1)
	for name, c := range map[string]struct {
		key  string
		want []int64 // of each page of 50; -1 for not told
	}{
		"all":            {"/wgpolicyk8s.io/policyreports", []int64{all - 50, all - 100}},
		"of a namespace": {"/wgpolicyk8s.io/policyreports/ns", []int64{-1, -1}},
	} {
		predicate := everything
		predicate.Limit = 50
		for page, want := range c.want {
			list := emptyList()
			if err := r.GetList(t.Context(), c.key, storage.ListOptions{Recursive: true, Predicate: predicate}, list); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got := int64(-1)
			if list.RemainingItemCount != nil {
				got = *list.RemainingItemCount
			}
			if got != want || list.Continue == "" {
				t.Errorf("%s, page %d: %d are left, want %d; continue %q", name, page, got, want, list.Continue)
			}
			predicate.Continue = list.Continue
		}
	}
}
