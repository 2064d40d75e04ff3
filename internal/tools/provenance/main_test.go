// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestStatement: the checksum is that of sha256sum, and what is missing is an error.
func TestStatement(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.tar.gz")
	testkit.NoError(t, os.WriteFile(file, []byte("abc"), 0o600))
	var out bytes.Buffer
	testkit.NoError(t, write(&out, "c0ffee", "v1.2.3", "linux/amd64", []string{file}))
	var got statement
	testkit.NoError(t, json.Unmarshal(out.Bytes(), &got))
	const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // Of FIPS 180-2, appendix B.1.
	if len(got.Subject) != 1 || got.Subject[0].Name != "a.tar.gz" || got.Subject[0].Digest["sha256"] != abc {
		t.Errorf("the subject is %v", got.Subject)
	}
	if built := got.Predicate.BuildDefinition.ResolvedDependencies; len(built) != 1 || built[0].Digest["gitCommit"] != "c0ffee" {
		t.Errorf("it was built from %v", built)
	}
	if err := write(&out, "c0ffee", "v1.2.3", "linux/amd64", []string{file + ".missing"}); err == nil {
		t.Error("a missing file has a checksum")
	}
	if err := write(&out, "", "v1.2.3", "linux/amd64", []string{file}); err == nil {
		t.Error("a statement about no commit")
	}
}
