// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	gvk "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	smd "sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/docket-project/docket/internal/reports/schema"
)

// NewTypeConverter returns what hands reports to the library that keeps managed fields. It is
// library for everything but valid reports of kinds, which are empty reports that state their kind.
//
// The library reads those through [objectValue] and [listValue] in place of a tree of Go values. All
// that it finds out about ownership it finds out by itself, on the same values; but lists in the body,
// which are nearly all of a report, are decoded only if it looks into them. For a create or an update
// it doesn't: results are one field to it, and whether two of them are equal their bytes say.
func NewTypeConverter(library managedfields.TypeConverter, kinds ...runtime.Object) (managedfields.TypeConverter, error) {
	c := typeConverter{TypeConverter: library, types: map[gvk.GroupVersionKind]valueType{}}
	for _, kind := range kinds {
		empty, err := library.ObjectToTyped(kind)
		if err != nil {
			return nil, err
		}
		c.types[kind.GetObjectKind().GroupVersionKind()] = valueType{empty.Schema(), empty.TypeRef()}
	}
	return c, nil
}

type typeConverter struct {
	managedfields.TypeConverter

	types map[gvk.GroupVersionKind]valueType
}

// valueType is the type of a kind, as the library has it: it compares types by their address.
type valueType struct {
	schema *smd.Schema
	ref    smd.TypeRef
}

// ObjectToTyped implements managedfields.TypeConverter.
func (c typeConverter) ObjectToTyped(obj runtime.Object, opts ...typed.ValidationOptions) (*typed.TypedValue, error) {
	report, ok := obj.(*Object)
	if !ok {
		return c.TypeConverter.ObjectToTyped(obj, opts...)
	}
	as, ok := c.types[obj.GetObjectKind().GroupVersionKind()]
	if !ok {
		return c.TypeConverter.ObjectToTyped(obj, opts...)
	}
	members, ok := report.members()
	if !ok {
		return c.TypeConverter.ObjectToTyped(obj, opts...)
	}
	// Lists in the body meet their schema, which is no wider than what the library has: only the rest
	// is compared with it. If that fails the library says why.
	if _, err := typed.AsTyped(members.withoutLists(), as.schema, as.ref, opts...); err != nil {
		return c.TypeConverter.ObjectToTyped(obj, opts...)
	}
	read := newObjectValue(members)
	read.report = report
	return typed.AsTypedUnvalidated(read, as.schema, as.ref), nil //nolint:staticcheck // Validated above.
}

// TypedToObject implements managedfields.TypeConverter. For each update the library asks what a value was
// made from, only to learn its version.
func (c typeConverter) TypedToObject(v *typed.TypedValue) (runtime.Object, error) {
	if read, ok := v.AsValue().(objectValue); ok && read.report != nil {
		return read.report.shallow(), nil
	}
	return c.TypeConverter.TypedToObject(v)
}

// shallow returns a copy whose type may be set.
func (o *Object) shallow() runtime.Object {
	copied := *o
	return &copied
}

// members returns the report as the library is to read it, false if it isn't known to be valid.
func (o *Object) members() (objectMembers, bool) {
	if o.Content != nil && !o.Content.valid {
		return nil, false
	}
	members, ok := splitMembers(o.Body(), 1)
	if !ok {
		return nil, false
	}
	if o.Kind != "" {
		members["apiVersion"], members["kind"] = o.APIVersion, o.Kind
	}
	meta, err := metadataTree(&o.ObjectMeta)
	members["metadata"] = meta
	return members, err == nil
}

func metadataTree(meta *metav1.ObjectMeta) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(meta)
}

// splitMembers returns the members of a JSON object in canonical form: lists as *listValue, objects as
// objectValue down to a depth, and everything else as Go values.
func splitMembers(object []byte, depth int) (objectMembers, bool) {
	members := objectMembers{}
	ok := schema.Split(object, func(key, json []byte) bool {
		name := string(key)
		switch {
		case json[0] == '[':
			count := schema.Count(json)
			members[name] = &listValue{Value: emptyList, json: json, count: count}
			return count >= 0
		case json[0] == '{' && depth > 0:
			inner, ok := splitMembers(json, depth-1)
			members[name] = newObjectValue(inner)
			return ok
		}
		decoded, err := schema.ParseValue(json)
		members[name] = decoded
		return err == nil
	})
	return members, ok
}

// withoutLists returns the members but those whose lists are not decoded.
func (m objectMembers) withoutLists() value.Value {
	rest := make(objectMembers, len(m))
	for name, member := range m {
		switch v := member.(type) {
		case *listValue:
		case objectValue:
			rest[name] = v.members.withoutLists()
		default:
			rest[name] = v
		}
	}
	return newObjectValue(rest)
}
