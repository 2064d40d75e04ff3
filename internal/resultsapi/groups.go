// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import "github.com/docket-project/docket/internal/store/engine"

// groupFields are the fields whose values can be counted separately, by their names in spec.groupBy.
func groupFields() []string {
	var names []string
	for _, field := range engine.Fields() {
		if field.Groups() {
			names = append(names, string(field))
		}
	}
	return append(names, string(engine.FieldMessage), string(engine.FieldDay))
}

// groupField returns the field that a name in spec.groupBy or spec.orderBy means: of messages, what they say of every resource.
func groupField(name string) engine.Field {
	if field := engine.Field(name); field != engine.FieldMessage {
		return field
	}
	return engine.FieldTemplate
}
