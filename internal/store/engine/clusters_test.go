// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"math/rand/v2"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestFilterOfCluster: the filter for one cluster selects the same rows of it as the whole filter.
func TestFilterOfCluster(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	var made func(depth int) *Filter
	made = func(depth int) *Filter {
		field := []Field{FieldCluster, FieldPolicy}[random.IntN(2)]
		switch kind := random.IntN(6); {
		case depth == 0 || kind < 2:
			return OneOf(field, []string{"a", "b", "c"}[random.IntN(3)], []string{"a", "b", "c"}[random.IntN(3)])
		case kind == 2:
			return Negate(made(depth - 1))
		case kind == 3:
			return &Filter{Operator: StartsWith, Field: field, Values: []string{"a"}}
		case kind == 4:
			return &Filter{Operator: All, Operands: []*Filter{made(depth - 1), made(depth - 1)}}
		}
		return &Filter{Operator: Any, Operands: []*Filter{made(depth - 1), made(depth - 1), made(depth - 1)}}
	}
	for range 2000 {
		whole := made(4)
		for _, cluster := range []string{"a", "b", "d"} {
			left := whole.Of(cluster)
			left.Uses(func(field Field) {
				if field == FieldCluster {
					t.Fatalf("%+v is left", left)
				}
			})
			testkit.NoError(t, left.Check())
			for _, policy := range []string{"a", "b", "d"} {
				row := map[Field]string{FieldCluster: cluster, FieldPolicy: policy}
				text := func(field Field) string { return row[field] }
				want := whole.Match(text, 0)
				if got := left.Match(text, 0); got != want || got && left.Never() {
					t.Fatalf("row %v: %v, want %v", row, got, want)
				}
			}
		}
	}
	if Equal(FieldCluster, "a").Of("a") != nil || !Equal(FieldCluster, "a").Of("b").Never() {
		t.Error("a cluster alone is not decided")
	}
}
