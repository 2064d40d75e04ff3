// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// TestMessage: names are in the places of placeholders, wherever these are and however often.
func TestMessage(t *testing.T) {
	t.Parallel()
	about := &engine.Subject{Name: "web", Namespace: "shop", UID: "u"}
	for template, want := range map[string][3]string{
		"":                        {"", "", ""},
		"as it is":                {"as it is", "as it is", "as it is"},
		"\x01":                    {"web", "", "{name}"},
		"\x02/\x01 (\x03), \x01é": {"shop/web (u), webé", "/ (), é", "{namespace}/{name} ({uid}), {name}é"},
	} {
		if got := [3]string{engine.Message(template, about), engine.Message(template, nil), engine.Template(template)}; got != want {
			t.Errorf("%q: got %q, want %q", template, got, want)
		}
	}
}
