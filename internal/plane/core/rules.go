// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// withRules returns a copy of the row with the rules for writing objects: those of all
// rows, which call the row's own.
func (r resource) withRules() resource {
	r.Rules.Prepare = r.prepareAny
	r.Rules.Validate = r.validateAny
	if counted := r.counted; counted != "" {
		r.Rules.Changed = func(object, old object) bool { return !samePart(object, old, counted) }
	}
	if r.warning != "" {
		r.Rules.Warnings = r.warnings
	}
	if r.status {
		r.Rules.ResetFields = []string{"status"}
	}
	return r
}

// prepareAny keeps the stored status. Nobody creates an object with a status.
func (r resource) prepareAny(object, old object) {
	switch {
	case !r.status:
	case old == nil:
		clearPart(object, statusPart)
	default:
		copyPart(object, old, statusPart)
	}
	if r.prepare != nil {
		r.prepare(object, old)
	}
}

// validateAny doesn't check updates of metadata alone. An object that was stored before a
// rule existed can still be labelled and lose its finalizers.
func (r resource) validateAny(_ context.Context, object, old object) field.ErrorList {
	if r.validate == nil || old != nil && sameContent(object, old) {
		return nil
	}
	return r.validate(object, old)
}

// warnings warns on create only: the object's creator was warned then.
func (r resource) warnings(_, old object) []string {
	if old != nil {
		return nil
	}
	return []string{r.warning}
}

// sameContent reports whether two objects differ only in their metadata.
func sameContent(a, b runtime.Object) bool {
	before := reflect.ValueOf(b).Elem()
	for i := range before.NumField() {
		switch name := before.Type().Field(i).Name; name {
		case "TypeMeta", metadataPart:
		default:
			if !samePart(a, b, name) {
				return false
			}
		}
	}
	return true
}
