// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"time"
)

// Fields that results are counted by, and not selected by: FieldMessage and FieldSeconds differ in nearly every result.
const (
	// FieldTemplate is the message with {name}, {namespace} and {uid} where it names the resource, as the view
	// policy_result_counts has it: the same for all results of a verdict.
	FieldTemplate Field = "message.template"
	// FieldDay is the day of the time in UTC, such as "2026-11-25"; "" for no time.
	FieldDay Field = "day"
)

// Groups reports whether results can be counted by a field.
func (f Field) Groups() bool {
	if name, ok := f.Property(); ok {
		return CheckProperty(name) == nil
	}
	if f == FieldTemplate || f == FieldDay {
		return true
	}
	return slices.Contains(Fields(), f) && f != FieldMessage && !f.IsNumber()
}

// SecondsOfDay is the length of a day of Unix time.
const SecondsOfDay = 24 * 60 * 60

// Day returns FieldDay of a time in Unix seconds, which in projections is in the years 1 to 9999.
func Day(seconds int64) string {
	if seconds == 0 {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}
