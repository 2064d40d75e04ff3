// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"runtime/debug"
	"testing"
)

// TestVersionOfEngine: a program that was built with another Kyverno has other fingerprints.
func TestVersionOfEngine(t *testing.T) {
	t.Parallel()
	with := func(modules ...*debug.Module) *debug.BuildInfo {
		return &debug.BuildInfo{Deps: append([]*debug.Module{{Path: "github.com/kyverno/sdk", Version: "v0.1.0"}}, modules...)}
	}
	fork := &debug.Module{Path: "example.com/kyverno", Version: "v1.20.0"}
	for name, test := range map[string]struct {
		build *debug.BuildInfo
		want  string
	}{
		"of the module": {with(&debug.Module{Path: kyvernoModule, Version: "v1.19.1"}), "kyverno v1.19.1"},
		"replaced":      {with(&debug.Module{Path: kyvernoModule, Version: "v1.19.1", Replace: fork}), "kyverno v1.20.0"},
		"not listed":    {with(), "kyverno"},
		"nothing known": {nil, "kyverno"},
	} {
		if got := versionIn(test.build); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
