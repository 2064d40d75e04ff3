// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"io/fs"
	"os"
	"strings"
	"testing"
)

// TestEachPageIsListed: readers find each page from docs/README.md. Decisions have a list of their own.
func TestEachPageIsListed(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path == "adr" {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, ".md") && path != "README.md" && !strings.Contains(string(list), "]("+path+")") {
			t.Errorf("docs/README.md does not list %s", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
