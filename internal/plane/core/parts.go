// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"reflect"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Names of Go fields that kinds have in common. No interface has them, so they are reached
// by name.
const (
	specPart     = "Spec"
	statusPart   = "Status"
	metadataPart = "ObjectMeta"
)

// part returns a field of an object; it can be set.
func part(object runtime.Object, name string) reflect.Value {
	return reflect.ValueOf(object).Elem().FieldByName(name)
}

func hasPart(object runtime.Object, name string) bool { return part(object, name).IsValid() }

func clearPart(object runtime.Object, name string) { part(object, name).SetZero() }

// copyPart sets a field of one object to that of another of the same kind. Objects of
// the storage may be shared, hence the deep copy.
func copyPart(to, from runtime.Object, name string) {
	part(to, name).Set(part(from.DeepCopyObject(), name))
}

func samePart(a, b runtime.Object, name string) bool {
	return apiequality.Semantic.DeepEqual(part(a, name).Interface(), part(b, name).Interface())
}

// wrongType reports a bug of the server, which no request can cause.
func wrongType(object runtime.Object) *field.Error {
	return field.InternalError(nil, fmt.Errorf("object is a %T, which is not of this resource", object))
}
