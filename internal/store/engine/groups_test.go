// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

func TestDay(t *testing.T) {
	for seconds, want := range map[int64]string{
		0: "", 1: "1970-01-01", -1: "1969-12-31", 86_399: "1970-01-01", 86_400: "1970-01-02", -62_135_596_800: "0001-01-01", 253_402_300_799: "9999-12-31",
	} {
		if got := engine.Day(seconds); got != want {
			t.Errorf("%d: got %q, want %q", seconds, got, want)
		}
	}
}

func TestGroups(t *testing.T) {
	for field, want := range map[engine.Field]bool{
		engine.FieldPolicy: true, engine.FieldSubjectName: true, engine.FieldTemplate: true, engine.FieldDay: true,
		engine.FieldMessage: false, engine.FieldSeconds: false, "colour": false, "": false,
	} {
		if got := field.Groups(); got != want {
			t.Errorf("%q: got %t", field, got)
		}
	}
}
