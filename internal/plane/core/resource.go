// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/internal/reports/kinds"
)

// object is an object of any kind, as the package reads it.
type object interface {
	runtime.Object
	metav1.Object
}

// resource is one row of the table of stored resources. Rows are read-only.
type resource struct {
	kinds.Kind[object]

	// status is true for kinds with the subresource status.
	status bool
	// counted is the Go field whose changes raise the generation; empty for kinds
	// that have no generation.
	counted string
	// prepare fills in defaults and what the server decides. old is nil on create.
	prepare func(object, old object)
	// validate says what is wrong with an object. old is nil on create.
	validate func(object, old object) field.ErrorList
	// warning for the user who creates an object; empty for none.
	warning string
}

// pointer is a pointer to the Go type of an object or a list.
type pointer[T any] interface {
	*T
	runtime.Object
}

// row returns a row with what most kinds have in common. T and L are the Go types of its
// objects and lists.
func row[T, L any, P pointer[T], PL pointer[L]](group schema.GroupVersion, kind, name, singular string) resource {
	r := resource{Kind: kinds.Kind[object]{
		GroupVersionKind: group.WithKind(kind), Resource: name, Singular: singular, Namespaced: true,
		New:     func() runtime.Object { return P(new(T)) },
		NewList: func() runtime.Object { return PL(new(L)) },
		Columns: between(),
		Rules:   kinds.Rules[object]{ValidateName: apimachineryvalidation.NameIsDNSSubdomain, UnconditionalUpdate: true},
	}}
	if hasPart(r.New(), specPart) {
		r.counted = specPart
	}
	return r
}

// with returns a copy of the row, changed by change.
func (r resource) with(change func(*resource)) resource {
	change(&r)
	return r
}

// preparing turns a function for objects of one kind into one for any. On create, old is nil.
func preparing[P runtime.Object](f func(object, old P)) func(object, old object) {
	return func(object, old object) {
		now, ok := object.(P)
		if !ok {
			return
		}
		before, _ := old.(P)
		f(now, before)
	}
}

// validating turns a function for objects of one kind into one for any. On create, old is nil.
func validating[P runtime.Object](f func(object, old P) field.ErrorList) func(object, old object) field.ErrorList {
	return func(object, old object) field.ErrorList {
		now, ok := object.(P)
		if !ok {
			return field.ErrorList{wrongType(object)}
		}
		before, _ := old.(P)
		return f(now, before)
	}
}

// ifStored returns a part of the stored object, or nil on create.
func ifStored[T, V any](old *T, read func(*T) *V) *V {
	if old == nil {
		return nil
	}
	return read(old)
}
