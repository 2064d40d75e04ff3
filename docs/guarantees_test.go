// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs checks what the documentation says.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	guaranteeRow = regexp.MustCompile(`(?m)^\| ([A-Z]\d+) \|.*\| ([^|]*) \|$`)
	cited        = regexp.MustCompile("`(\\w+)`")
	testFunction = regexp.MustCompile(`(?m)^func (?:\(\w+ \*?\w+\) )?(\w+)\(|\.(RunTest\w+)\(`)
)

// TestGuarantees promises that each guarantee has a number of its own, and tests that there are.
func TestGuarantees(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, page := range []string{"operate/guarantees.md", "../SECURITY.md"} {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !guaranteeRow.Match(content) {
			t.Errorf("%s has no guarantees", page)
		}
		text.Write(content)
	}
	for _, problem := range problems(text.String(), testNames(t)) {
		t.Error(problem)
	}
}

// TestGuaranteeProblems promises that the check finds what it is for.
func TestGuaranteeProblems(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"TestA": true}
	for text, want := range map[string]int{
		"| S1 | a | b | `TestA` |\n| S2 | a | b | `TestA`, more |\n": 0,
		"| S1 | a | b | `TestA` |\n| S1 | a | b | `TestA` |\n":       1,
		"| S1 | a | b | `TestB` |\n":                                 1,
		"| S1 | a | b | by hand |\n":                                 1,
		"nothing":                                                    1,
	} {
		if got := problems(text, known); len(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func problems(text string, known map[string]bool) []string {
	var out []string
	seen := map[string]bool{}
	for _, row := range guaranteeRow.FindAllStringSubmatch(text, -1) {
		number, names := row[1], cited.FindAllStringSubmatch(row[2], -1)
		if seen[number] {
			out = append(out, number+" is there twice: give one of them the next number")
		}
		seen[number] = true
		if len(names) == 0 {
			out = append(out, number+" cites no test")
		}
		for _, name := range names {
			if !known[name[1]] {
				out = append(out, number+" cites "+name[1]+", which is no test and no package of tests")
			}
		}
	}
	if len(seen) == 0 {
		out = append(out, "there are no guarantees")
	}
	return out
}

// testNames returns the functions of tests in all modules, and the folders that have some.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != ".." && strings.HasPrefix(entry.Name(), ".") {
			return fs.SkipDir
		}
		folder := filepath.Base(filepath.Dir(path))
		suite := folder == "enginetest" || folder == "storetest"
		if !strings.HasSuffix(path, "_test.go") && !(suite && strings.HasSuffix(path, ".go")) {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		out[folder] = true
		for _, name := range testFunction.FindAllStringSubmatch(string(content), -1) {
			out[name[1]+name[2]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
