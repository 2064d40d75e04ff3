// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// knowing is an object that derives the same as all with its name.
type knowing struct{ *unstructured.Unstructured }

func (k knowing) DerivesAlike() func(runtime.Object) bool {
	name := k.GetName()
	return func(obj runtime.Object) bool {
		other, ok := obj.(knowing)
		return ok && other.GetName() == name
	}
}

// TestDerivedOnlyIfNeeded: rows are made of what is written, unless they are known to stay, and of the earlier object
// only if nothing else says whether they do.
func TestDerivedOnlyIfNeeded(t *testing.T) {
	t.Parallel()
	named := func(name string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		object.SetName(name)
		return object
	}
	for name, c := range map[string]struct {
		kind         engine.OpKind
		old, updated runtime.Object
		keep         bool
		projections  int
	}{
		"known to be the same":          {engine.Update, knowing{named("a")}, knowing{named("a")}, true, 0},
		"known, and another one":        {engine.Update, knowing{named("a")}, knowing{named("b")}, false, 1},
		"created over nothing":          {engine.Create, knowing{named("a")}, knowing{named("a")}, false, 1},
		"unknown, and found to be same": {engine.Update, named("a"), named("a"), true, 2},
		"unknown, and another one":      {engine.Update, named("a"), named("b"), false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			projections := 0
			r := &Resource{store: &Store{index: newIndexer(nil), options: Options{Derivation: 7}}}
			r.config.Project = func(obj runtime.Object) (*engine.Projection, error) {
				projections++
				accessor, ok := obj.(interface{ GetName() string })
				if !ok {
					t.Fatalf("a %T has no name", obj)
				}
				return &engine.Projection{Name: accessor.GetName()}, nil
			}
			before := testkit.Must(r.derivedBefore(c.old))(t)
			op := engine.Op{Kind: c.kind}
			testkit.NoError(t, before.derive(&op, c.updated))
			if op.KeepDerived != c.keep || projections != c.projections || op.Derivation != 7 {
				t.Errorf("kept is %v after %d projections by version %d, want %v after %d by 7",
					op.KeepDerived, projections, op.Derivation, c.keep, c.projections)
			}
			if !op.KeepDerived && op.Projection == nil {
				t.Error("there are neither old rows nor new ones")
			}
		})
	}
}
