// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"time"

	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resource is one row of the table of stored resources. Rows are read-only.
type resource struct {
	kind       schema.GroupVersionKind
	name       string
	singular   string
	shortNames []string
	categories []string
	namespaced bool

	newObject func() runtime.Object
	newList   func() runtime.Object

	// validateName says what is wrong with a name, or the prefix of one.
	validateName apimachineryvalidation.ValidateNameFunc
	// status is true for kinds with the subresource status.
	status bool
	// counted is the Go field whose changes raise the generation; empty for kinds
	// that have no generation.
	counted string
	// createOnUpdate is true if PUT creates what is missing.
	createOnUpdate bool
	// conditionalUpdate is true if PUT must name the resourceVersion that it replaces.
	conditionalUpdate bool
	// lifetime after which objects vanish by themselves; zero is for ever.
	lifetime time.Duration

	// prepare fills in defaults and what the server decides. old is nil on create.
	prepare func(object, old runtime.Object)
	// validate says what is wrong with an object. old is nil on create.
	validate func(object, old runtime.Object) field.ErrorList
	// warning for who creates an object; empty for none.
	warning string
	// columns are printed between name and age.
	columns []column
	// onlyColumns is true if these are all, in kinds where name and age stand elsewhere.
	onlyColumns bool
	// fields can be selected, besides metadata.name and metadata.namespace.
	fields []selectableField
}

func (r resource) groupVersion() schema.GroupVersion { return r.kind.GroupVersion() }

func (r resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.kind.Group, Resource: r.name}
}

// object is a pointer to a kind of object or list.
type object[T any] interface {
	*T
	runtime.Object
}

// row returns a row with what most kinds have in common. The kinds of object and list
// are named as their Go types.
func row[T, L any, P object[T], PL object[L]](group schema.GroupVersion, kind, name, singular string) resource {
	r := resource{
		kind: group.WithKind(kind), name: name, singular: singular, namespaced: true,
		newObject:    func() runtime.Object { return P(new(T)) },
		newList:      func() runtime.Object { return PL(new(L)) },
		validateName: apimachineryvalidation.NameIsDNSSubdomain,
	}
	if hasPart(r.newObject(), specPart) {
		r.counted = specPart
	}
	return r
}

// with returns a copy of the row that change has changed.
func (r resource) with(change func(*resource)) resource {
	change(&r)
	return r
}

// preparing makes a function of one kind one of all kinds. On create, old is nil.
func preparing[P runtime.Object](f func(object, old P)) func(object, old runtime.Object) {
	return func(object, old runtime.Object) {
		now, ok := object.(P)
		if !ok {
			return
		}
		before, _ := old.(P)
		f(now, before)
	}
}

// validating makes a function of one kind one of all kinds. On create, old is nil.
func validating[P runtime.Object](f func(object, old P) field.ErrorList) func(object, old runtime.Object) field.ErrorList {
	return func(object, old runtime.Object) field.ErrorList {
		now, ok := object.(P)
		if !ok {
			return field.ErrorList{wrongType(object)}
		}
		before, _ := old.(P)
		return f(now, before)
	}
}

// ifStored reads a part of the stored object, nil on create.
func ifStored[T, V any](old *T, read func(*T) *V) *V {
	if old == nil {
		return nil
	}
	return read(old)
}
