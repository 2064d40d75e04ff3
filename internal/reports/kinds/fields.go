// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// Fields that can be selected in every kind.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// SelectableField is a field that clients can use in field selectors.
type SelectableField[O any] struct {
	// Name is the name in selectors, such as scope.uid.
	Name string
	// Value returns the value in one object, empty if the object has none.
	Value func(O) string
}

// FieldNames returns the names that field selectors on k can use, in the order in
// which error messages list them.
func (k Kind[O]) FieldNames() []string {
	names := []string{nameField}
	if k.Namespaced {
		names = append(names, namespaceField)
	}
	for _, selectable := range k.SelectableFields {
		names = append(names, selectable.Name)
	}
	return names
}

// GetAttrs returns the labels and the selectable fields of an object of kind k. The
// labels belong to the object: callers must not change them.
func (k Kind[O]) GetAttrs(object runtime.Object) (labels.Set, fields.Set, error) {
	typed, err := read[O](object, k.GroupVersionKind)
	if err != nil {
		return nil, nil, fmt.Errorf("read attributes of %s: %w", k.GroupResource(), err)
	}
	metadata, err := meta.Accessor(object)
	if err != nil {
		return nil, nil, fmt.Errorf("read attributes of %s: %w", k.GroupResource(), err)
	}
	set := make(fields.Set, len(k.SelectableFields)+2)
	set[nameField] = metadata.GetName()
	if k.Namespaced {
		set[namespaceField] = metadata.GetNamespace()
	}
	for _, selectable := range k.SelectableFields {
		set[selectable.Name] = selectable.Value(typed)
	}
	return metadata.GetLabels(), set, nil
}

// Predicate returns what decides whether an object of kind k matches the selectors.
func (k Kind[O]) Predicate(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: k.GetAttrs}
}

// ConvertField accepts the fields that k can select. An unknown field must be an
// error: if it were ignored, a delete by selector would delete everything.
func (k Kind[O]) ConvertField(name, value string) (string, string, error) {
	if names := k.FieldNames(); !slices.Contains(names, name) {
		return "", "", fmt.Errorf("field label not supported: %s; %s can be selected by %s",
			name, k.Resource, strings.Join(names, ", "))
	}
	return name, value, nil
}
