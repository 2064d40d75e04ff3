// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command headercheck fails when a source file lacks the licence header. It looks at
// Go files, scripts and makefiles below the working directory.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The header is at the top of a Go file, where a generator may put a build constraint
// before it, and at the top of a script, after the line that names the interpreter.
var (
	goHeader     = regexp.MustCompile(`\A(//go:build .*\n(// \+build .*\n)*\n)?// Copyright \d{4} The Docket Authors\.\n// SPDX-License-Identifier: Apache-2\.0\n`)
	scriptHeader = regexp.MustCompile(`\A(#!.*\n)?# Copyright \d{4} The Docket Authors\.\n# SPDX-License-Identifier: Apache-2\.0\n`)
)

func main() {
	missing, err := check(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "headercheck:", err)
		os.Exit(1)
	}
	for _, path := range missing {
		fmt.Println(path)
	}
	if len(missing) > 0 {
		fmt.Fprintf(os.Stderr, "headercheck: %d file(s) do not begin with the header in hack/boilerplate.go.txt\n", len(missing))
		os.Exit(1)
	}
}

// check returns the files without a header, in lexical order.
func check(root fs.FS) ([]string, error) {
	var missing []string
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skipped(path) {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		if header := headerFor(path, content); header != nil && !header.Match(content) {
			missing = append(missing, path)
		}
		return nil
	})
	return missing, err
}

// skipped folders hold what is built, or data of tests.
func skipped(dir string) bool {
	switch filepath.Base(dir) {
	case ".git", "bin", "dist", "testdata":
		return true
	default:
		return false
	}
}

// headerFor returns what the file has to begin with, nil for other kinds of files.
func headerFor(path string, content []byte) *regexp.Regexp {
	switch {
	case strings.HasSuffix(path, ".go"):
		return goHeader
	case strings.HasSuffix(path, ".sh"), filepath.Base(path) == "Makefile", bytes.HasPrefix(content, []byte("#!/")):
		return scriptHeader
	default:
		return nil
	}
}
