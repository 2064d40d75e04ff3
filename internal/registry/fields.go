// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/api/report"
)

// Fields that can be selected in every kind.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

// SelectableField is a field that clients can use in field selectors.
type SelectableField struct {
	// Name is the name in selectors, such as scope.uid.
	Name string
	// Value returns the value in one report, empty if the report has none.
	Value func(report.Accessor) string
}

func scopedFields() []SelectableField {
	return []SelectableField{
		scopeField("scope.uid", func(scope *report.ObjectReference) string { return string(scope.UID) }),
		scopeField("scope.kind", func(scope *report.ObjectReference) string { return scope.Kind }),
		scopeField("scope.name", func(scope *report.ObjectReference) string { return scope.Name }),
		scopeField("scope.namespace", func(scope *report.ObjectReference) string { return scope.Namespace }),
		{Name: "source", Value: report.Accessor.GetSource},
	}
}

func ephemeralFields() []SelectableField {
	return []SelectableField{
		scopeField("spec.owner.uid", func(owner *report.ObjectReference) string { return string(owner.UID) }),
		scopeField("spec.owner.kind", func(owner *report.ObjectReference) string { return owner.Kind }),
		scopeField("spec.owner.name", func(owner *report.ObjectReference) string { return owner.Name }),
	}
}

func scopeField(name string, read func(*report.ObjectReference) string) SelectableField {
	return SelectableField{
		Name: name,
		Value: func(r report.Accessor) string {
			scope := r.GetScope()
			if scope == nil {
				return ""
			}
			return read(scope)
		},
	}
}

// FieldNames returns the names that field selectors on k can use, in the order in
// which error messages list them.
func (k Kind) FieldNames() []string {
	names := []string{nameField}
	if k.Namespaced {
		names = append(names, namespaceField)
	}
	for _, selectable := range k.SelectableFields {
		names = append(names, selectable.Name)
	}
	return names
}

// GetAttrs returns the labels and the selectable fields of a report of kind k. The
// labels are those of obj: callers must not change them.
func (k Kind) GetAttrs(obj runtime.Object) (labels.Set, fields.Set, error) {
	accessor, ok := report.Of(obj)
	if !ok {
		return nil, nil, fmt.Errorf("read attributes of %s: object is a %T", k.GroupResource(), obj)
	}
	set := make(fields.Set, len(k.SelectableFields)+2)
	set[nameField] = accessor.GetName()
	if k.Namespaced {
		set[namespaceField] = accessor.GetNamespace()
	}
	for _, selectable := range k.SelectableFields {
		set[selectable.Name] = selectable.Value(accessor)
	}
	return accessor.GetLabels(), set, nil
}

// Predicate returns what decides whether a report of kind k matches the selectors.
func (k Kind) Predicate(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
	return storage.SelectionPredicate{Label: label, Field: field, GetAttrs: k.GetAttrs}
}

// convertField accepts the fields that k can select. An unknown field must be an
// error: if it were ignored, a delete by selector would delete everything.
func (k Kind) convertField(name, value string) (string, string, error) {
	if names := k.FieldNames(); !slices.Contains(names, name) {
		return "", "", fmt.Errorf("field label not supported: %s; %s can be selected by %s",
			name, k.Resource, strings.Join(names, ", "))
	}
	return name, value, nil
}
