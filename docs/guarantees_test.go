// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs checks what the documentation says.
package docs

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

var (
	guaranteeRow = regexp.MustCompile(`(?m)^\| ([A-Z]\d+) \|.*\| ([^|]*) \|$`)
	cited        = regexp.MustCompile("`(\\w+)`")
	// citation is a comment of a test on what it proves, such as "Guarantees S1 to S4" or "guarantee S3, S8".
	citation     = regexp.MustCompile(`(?i)\bguarantees? ([A-Z]\d+(?:(?:, | and | to )[A-Z]\d+)*)`)
	testFunction = regexp.MustCompile(`(?m)^func (?:\(\w+ \*?\w+\) )?(\w+)\(|\.(RunTest\w+)\(`)
	// waiting is a test that only make test-all runs.
	waiting = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\) \{\n\ttestkit\.Full\(t\)$`)
)

// TestGuarantees promises that each guarantee has a number of its own, and tests that there are.
func TestGuarantees(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, page := range []string{"operate/guarantees.md", "../SECURITY.md"} {
		content := testkit.Must(os.ReadFile(page))(t)
		if !guaranteeRow.Match(content) {
			t.Errorf("%s has no guarantees", page)
		}
		text.Write(content)
	}
	found := readTests(t)
	for _, problem := range problems(text.String(), found) {
		t.Error(problem)
	}
	for _, row := range guaranteeRow.FindAllStringSubmatch(text.String(), -1) {
		if number := row[1]; strings.Contains("SM", number[:1]) && !found.citations[number] {
			t.Errorf("no test says that it is about guarantee %s: storage and migration are read by these numbers", number)
		}
	}
}

// TestGuaranteeProblems promises that the check finds what it is for.
func TestGuaranteeProblems(t *testing.T) {
	t.Parallel()
	known := tests{names: map[string]bool{"TestA": true, "TestFull": true}, waiting: map[string]bool{"TestFull": true}}
	for text, want := range map[string]int{
		"| S1 | a | b | `TestA` |\n| S2 | a | b | `TestA`, more |\n": 0,
		"| S1 | a | b | `TestA` |\n| S1 | a | b | `TestA` |\n":       1,
		"| S1 | a | b | `TestB` |\n":                                 1,
		"| S1 | a | b | by hand |\n":                                 1,
		"| S1 | a | b | `TestFull` |\n":                              1,
		"| S1 | a | b | `TestFull`, `TestA` |\n":                     0,
		"nothing":                                                    1,
	} {
		if got := problems(text, known); len(got) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func problems(text string, known tests) []string {
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
		wait := len(names) > 0
		for _, name := range names {
			if !known.names[name[1]] {
				out = append(out, number+" cites "+name[1]+", which is no test and no package of tests")
			}
			wait = wait && known.waiting[name[1]]
		}
		if wait {
			out = append(out, number+" has no test in make test: all that it cites wait for make test-all")
		}
	}
	if len(seen) == 0 {
		out = append(out, "there are no guarantees")
	}
	return out
}

// TestWaitingTests promises that what only make test-all runs is in the table of such tests, and nothing else is.
func TestWaitingTests(t *testing.T) {
	t.Parallel()
	content := testkit.Must(os.ReadFile("develop/testing.md"))(t)
	page := string(content)
	found := readTests(t)
	for name := range found.waiting {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("testing.md does not say why %s may wait for make test-all", name)
		}
	}
	_, table, _ := strings.Cut(page, "only in `make test-all`")
	table, _, _ = strings.Cut(table, "Not a test of its own")
	for row := range strings.Lines(table) {
		first, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " |")
		for _, name := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(first, -1) {
			if !found.waiting[name[1]] {
				t.Errorf("testing.md says that %s waits for make test-all, which it does not", name[1])
			}
		}
	}
}

// TestCitations promises that numbers in comments are found.
func TestCitations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"// Guarantee S6: one fails alone.":        "S6",
		"// Guarantees S1, S5, S6.":                "S1 S5 S6",
		"// Guarantees S3 and S8.":                 "S3 S8",
		"// guarantees S1 to S4 with S9 replicas":  "S1 S2 S3 S4",
		"// guarantees that S1 is no bucket of S3": "",
	} {
		found := map[string]bool{}
		addCitations(found, text)
		if got := strings.Join(slices.Sorted(maps.Keys(found)), " "); got != want {
			t.Errorf("%q cites %q, want %q", text, got, want)
		}
	}
}

// addCitations adds the numbers of guarantees that comments cite.
func addCitations(citations map[string]bool, text string) {
	for _, match := range citation.FindAllStringSubmatch(text, -1) {
		last, span := 0, false
		for _, word := range strings.Fields(strings.ReplaceAll(match[1], ",", "")) {
			number, err := strconv.Atoi(word[1:])
			if err != nil { // "and" or "to".
				span = word == "to"
				continue
			}
			first := number
			if span {
				first = last + 1
			}
			for ; first <= number; first++ {
				citations[word[:1]+strconv.Itoa(first)] = true
			}
			last, span = number, false
		}
	}
}

// tests is what the tests of all modules say.
type tests struct {
	// names of their functions, and of the folders that have some.
	names map[string]bool
	// citations are the numbers of guarantees that they say they are about.
	citations map[string]bool
	// waiting are the names of tests that only make test-all runs.
	waiting map[string]bool
}

// binFolder has the programs that tests start.
const binFolder = "../bin"

func readTests(t *testing.T) tests {
	t.Helper()
	out := tests{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	testkit.NoError(t, filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && path != ".." && (strings.HasPrefix(entry.Name(), ".") || path == binFolder) {
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
		out.names[folder] = true
		addCitations(out.citations, string(content))
		for _, name := range waiting.FindAllStringSubmatch(string(content), -1) {
			out.waiting[name[1]] = true
		}
		for _, name := range testFunction.FindAllStringSubmatch(string(content), -1) {
			out.names[name[1]+name[2]] = true
		}
		return nil
	}))
	return out
}
