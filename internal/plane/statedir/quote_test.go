// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package statedir

import "testing"

func TestQuote(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/home/u/.docket/kubeconfig": "/home/u/.docket/kubeconfig",
		"/with space/k":              "'/with space/k'",
		"/it's/$HOME":                `'/it'\''s/$HOME'`,
	} {
		if got := Quote(path); got != want {
			t.Errorf("Quote(%q) is %s, want %s", path, got, want)
		}
	}
}
