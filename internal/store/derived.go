// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/internal/store/engine"
)

// derive fills in what an op says of an object beside its value.
func (r *Resource) derive(op *engine.Op, object runtime.Object) error {
	terms, projection, err := r.derived(object)
	if err != nil {
		return err
	}
	op.Index, op.Projection, op.Derivation = terms, projection, r.store.options.Derivation
	return nil
}

func (r *Resource) derived(object runtime.Object) ([]engine.Term, *engine.Projection, error) {
	// First, because it looks at everything: what is decoded for it serves the rest.
	var projection *engine.Projection
	if r.config.Project != nil {
		var err error
		if projection, err = r.config.Project(object); err != nil {
			return nil, nil, fmt.Errorf("result rows of the object: %w", err)
		}
	}
	var l labels.Set
	var f fields.Set
	if r.config.Attributes != nil {
		var err error
		if l, f, err = r.config.Attributes(object); err != nil {
			return nil, nil, fmt.Errorf("labels and fields of the object: %w", err)
		}
	} else if accessor, err := meta.Accessor(object); err == nil {
		l = accessor.GetLabels()
	}
	return r.store.index.terms(l, f), projection, nil
}

// deriving is an object that can say, without deriving anything, whether what is derived of another one is
// the same. Not for all of which it is the same must it say so.
type deriving interface {
	DerivesAlike() func(runtime.Object) bool
}

// before is what was derived of an object before an update, which may change the object itself.
type before struct {
	resource   *Resource
	terms      []engine.Term
	projection *engine.Projection
	// alike takes the place of both where the object is deriving.
	alike func(runtime.Object) bool
}

func (r *Resource) derivedBefore(object runtime.Object) (before, error) {
	if known, ok := object.(deriving); ok {
		return before{resource: r, alike: known.DerivesAlike()}, nil
	}
	terms, projection, err := r.derived(object)
	return before{resource: r, terms: terms, projection: projection}, err
}

// derive is Resource.derive for an op that writes what became of the object.
func (b before) derive(op *engine.Op, updated runtime.Object) error {
	update := op.Kind == engine.Update
	if update && b.alike != nil && b.alike(updated) {
		op.KeepDerived, op.Derivation = true, b.resource.store.options.Derivation
		return nil
	}
	if err := b.resource.derive(op, updated); err != nil {
		return err
	}
	op.KeepDerived = update && b.alike == nil && slices.Equal(b.terms, op.Index) && b.projection.Equal(op.Projection)
	return nil
}
