// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/internal/store/engine"
)

// groupFields are the fields whose values can be counted separately, by their names in spec.groupBy. Properties are
// such as well.
func groupFields() []string {
	var names []string
	for _, field := range engine.Fields() {
		if field.Groups() {
			names = append(names, string(field))
		}
	}
	return append(names, string(engine.FieldCluster), string(engine.FieldMessage), string(engine.FieldDay))
}

// groupField returns the field that a name in spec.groupBy or spec.orderBy means: of messages, what they say of every
// resource.
func groupField(name string) engine.Field {
	if property, ok := propertyIn(name); ok {
		return engine.Property(property)
	}
	if field := engine.Field(name); field != engine.FieldMessage {
		return field
	}
	return engine.FieldTemplate
}

// checkGroup returns an error if results can't be counted by what a name in spec.groupBy means.
func checkGroup(at *field.Path, name string) *field.Error {
	if property, ok := propertyIn(name); ok {
		if err := engine.CheckProperty(property); err != nil {
			return field.Invalid(at, name, err.Error())
		}
		return nil
	}
	if names := groupFields(); !slices.Contains(names, name) {
		return field.NotSupported(at, name, append(names, beforeProperty+"NAME"+behindProperty))
	}
	return nil
}

// head is what a table has above a column: the name of a field or an aggregate, of a property without what is around
// it.
func head(name string) string {
	if property, ok := propertyIn(name); ok {
		return property
	}
	return strings.ToUpper(name[:1]) + name[1:]
}
