// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestFilesAreParsedOnce: files that can't be served are not parsed again until they change.
func TestFilesAreParsedOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "wrong.yaml")
	c := newCustomResources([]string{path}, nil, nil, nil)
	var before error
	for _, text := range []string{"kind: Wrong\n", "kind: Wrong\n", "kind: Other\n"} {
		testkit.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		testkit.NoError(t, c.read())
		_, err := c.check(t.Context())
		if err == nil || (err == before) != (text == "kind: Wrong\n" && before != nil) { //nolint:errorlint // Whether it is the same.
			t.Errorf("%q: %v after %v", text, err, before)
		}
		before = err
	}
}
