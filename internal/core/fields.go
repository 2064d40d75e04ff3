// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Fields that can be selected in every kind.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// selectableField is a field that clients can use in field selectors.
type selectableField struct {
	name  string
	value func(runtime.Object) string
}

// selecting returns a field of one kind.
func selecting[P runtime.Object](name string, value func(P) string) selectableField {
	return selectableField{name: name, value: func(object runtime.Object) string {
		if typed, ok := object.(P); ok {
			return value(typed)
		}
		return ""
	}}
}

func (r resource) fieldNames() []string {
	names := []string{nameField}
	if r.namespaced {
		names = append(names, namespaceField)
	}
	for _, selectable := range r.fields {
		names = append(names, selectable.name)
	}
	return names
}

func (r resource) attributes(object runtime.Object) (labels.Set, fields.Set, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, nil, fmt.Errorf("read attributes of %s: %w", r.groupResource(), err)
	}
	set := make(fields.Set, len(r.fields)+2)
	set[nameField] = accessor.GetName()
	if r.namespaced {
		set[namespaceField] = accessor.GetNamespace()
	}
	for _, selectable := range r.fields {
		set[selectable.name] = selectable.value(object)
	}
	return accessor.GetLabels(), set, nil
}

// convertField accepts the fields that can be selected. An unknown field must be an
// error: if it were ignored, a delete by selector would delete everything.
func (r resource) convertField(name, value string) (string, string, error) {
	if names := r.fieldNames(); !slices.Contains(names, name) {
		return "", "", fmt.Errorf("field label not supported: %s; %s can be selected by %s",
			name, r.name, strings.Join(names, ", "))
	}
	return name, value, nil
}
