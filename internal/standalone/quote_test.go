// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package standalone

import "testing"

func TestQuote(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/home/u/.docket/kubeconfig": "/home/u/.docket/kubeconfig",
		"/with space/k":              "'/with space/k'",
		"/it's/$HOME":                `'/it'\''s/$HOME'`,
	} {
		if got := quote(path); got != want {
			t.Errorf("quote(%q) is %s, want %s", path, got, want)
		}
	}
}
