// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gitfolder

import "testing"

// TestLastLines: what git says, without advice and credentials.
func TestLastLines(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]string{
		"":                            "",
		"hint: x\nwarning: y\n":       "",
		"1\n2\nfatal: 3\nfatal: 4\n":  "2; fatal: 3; fatal: 4",
		"fatal: 'https://me:pw@h/r'":  "fatal: 'https://h/r'",
		"remote: see https://h/a@b\n": "remote: see https://h/a@b",
	} {
		if got := lastLines(output); got != want {
			t.Errorf("%q: %q, want %q", output, got, want)
		}
	}
}
