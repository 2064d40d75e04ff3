// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

func TestPropertyNames(t *testing.T) {
	for name, want := range map[string]string{
		"score": "", "artifact.repository": "", "a b": "", "é": "", "'; DROP TABLE verdict": "", "$": "", strings.Repeat("a", engine.MaxPropertyName): "",
		"": "is empty", `a"b`: `"a\"b", has a quote`, `a\`: "has a quote", "a\nb": "control character", "\x00": "control character", "\xff": "not UTF-8",
		strings.Repeat("a", engine.MaxPropertyName+1): "longer than 253",
	} {
		err := engine.CheckProperty(name)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got the error %v, want one with %q", name, err, want)
		}
		if got, ok := engine.Property(name).Property(); !ok || got != name {
			t.Errorf("%q: the field is of %q", name, got)
		}
		filter := engine.Equal(engine.Property(name), "x")
		if got := filter.Check(); (got == nil) != (err == nil) {
			t.Errorf("%q: the filter has the error %v", name, got)
		}
		if engine.Property(name).Groups() != (err == nil) {
			t.Errorf("%q: to count by it is possible, or not", name)
		}
	}
	if name, ok := engine.FieldPolicy.Property(); ok {
		t.Errorf("a policy is a property %q", name)
	}
}

func TestPropertyOfVerdict(t *testing.T) {
	for properties, want := range map[engine.JSON]string{"": "", `{"b":"c"}`: "", `{"a.b":"é","b":"c"}`: "é"} {
		if got := (&engine.Verdict{Properties: properties}).Property("a.b"); got != want {
			t.Errorf("%s: got %q", properties, got)
		}
	}
}
