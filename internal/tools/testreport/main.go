// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Command testreport says how a run of tests went, and fails it for what no single test can see: a package that takes
// too long, and a test that was skipped without a reason.
//
// Reasons are in the tables of docs/develop/testing.md: a row that begins with the name of a test in backquotes
// allows it, and its subtests, to be skipped; one that begins with a package allows that to take longer.
//
// Usage, from the root of the repository, with the events that gotestsum wrote for each part of the run:
//
//	go run ./internal/tools/testreport [-budget 60s] [-times] bin/tests/*.json
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	reasonsFile = "docs/develop/testing.md"
	module      = "github.com/docket-project/docket/"
	// shown are the slowest packages and tests that are named.
	shown = 10
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
		os.Exit(1)
	}
}

func run(arguments []string, out io.Writer) error {
	flags := flag.NewFlagSet("testreport", flag.ContinueOnError)
	budget := flags.Duration("budget", 0, "what a package may take; 0 for anything")
	times := flags.Bool("times", false, "print the time of each package, as rows of a table")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	document, err := os.ReadFile(reasonsFile)
	if err != nil {
		return err
	}
	var all []event
	for _, path := range flags.Args() {
		events, err := read(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, events...)
	}
	if *times {
		printTimes(out, all)
		return nil
	}
	return report(out, all, reasons(string(document)), *budget)
}

// event is a line of go test -json about the end of a test, or of a package if Test is "".
type event struct {
	Action, Package, Test string
	Elapsed               float64 // Seconds.

	part string // of the run
}

func (e event) took() time.Duration { return time.Duration(e.Elapsed * float64(time.Second)) }

func (e event) String() string {
	name := strings.TrimPrefix(e.Package, module)
	if e.Test != "" {
		name += " " + e.Test
	}
	return fmt.Sprintf("%s (%s)", name, e.part)
}

func read(path string) ([]event, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var events []event
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e := event{part: strings.TrimSuffix(filepath.Base(path), ".json")}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, lines.Err()
}

var reasonRow = regexp.MustCompile("(?m)^\\| `([^`]+)`(?:, `([^`]+)`)* \\|")

// reasons returns the names with which rows of the tables begin.
func reasons(document string) map[string]bool {
	names := map[string]bool{}
	for _, row := range reasonRow.FindAllString(document, -1) {
		for i, part := range strings.Split(row, "`") {
			if i%2 == 1 {
				names[part] = true
			}
		}
	}
	return names
}

// report prints what one wants to know at the end of a run, and returns what is wrong with it.
func report(out io.Writer, all []event, allowed map[string]bool, budget time.Duration) error {
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	var packages, tests, failed, wrong []string
	count, unexplained := map[string]int{}, map[string]bool{}
	for _, e := range all {
		line := fmt.Sprintf("%7.1f s  %s", e.Elapsed, e)
		name := strings.TrimPrefix(e.Package, module)
		switch {
		case e.Action == "fail":
			failed = append(failed, e.String())
		case e.Test != "" && e.Action == "skip" && !allows(allowed, e.Test):
			if whole, _, _ := strings.Cut(e.Test, "/"); !unexplained[whole] { // One of a test is enough.
				unexplained[whole] = true
				wrong = append(wrong, fmt.Sprintf("%s was skipped, and no table of %s says why it may be", e, reasonsFile))
			}
		case e.Test == "" && budget > 0 && e.took() > budget && !allowed[name]:
			wrong = append(wrong, fmt.Sprintf("%s took %.0f s, more than %s, and no table of %s says why it may", e, e.Elapsed, budget, reasonsFile))
		}
		if e.Test == "" {
			packages = append(packages, line)
		} else {
			tests = append(tests, line)
			count[e.Action]++
		}
	}
	fmt.Fprintf(out, "slowest packages and tests:\n%s\n", strings.Join(slices.Concat(first(packages), first(tests)), "\n"))
	fmt.Fprintf(out, "%d tests passed, %d failed, %d were skipped\n", count["pass"], count["fail"], count["skip"])
	for _, name := range failed {
		fmt.Fprintln(out, "failed:", name)
	}
	if len(failed) > 0 {
		wrong = append(wrong, fmt.Sprintf("%d tests and packages failed", len(failed)))
	}
	if len(all) == 0 {
		wrong = append(wrong, "no test was run")
	}
	return errors.Join(asErrors(wrong)...)
}

func first(lines []string) []string { return lines[:min(shown, len(lines))] }

// allows says whether a test, or one that it is part of, has a row.
func allows(allowed map[string]bool, test string) bool {
	for {
		if allowed[test] {
			return true
		}
		parent := strings.LastIndexByte(test, '/')
		if parent < 0 {
			return false
		}
		test = test[:parent]
	}
}

func asErrors(texts []string) []error {
	var errs []error
	for _, text := range texts {
		errs = append(errs, errors.New(text))
	}
	return errs
}

// printTimes prints the packages that take a second or longer, by part of the run.
func printTimes(out io.Writer, all []event) {
	slices.SortStableFunc(all, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(b.Elapsed, a.Elapsed))
	})
	for _, e := range all {
		if e.Test == "" && e.Elapsed >= 1 {
			fmt.Fprintf(out, "| %s | %s | %.0f |\n", e.part, strings.TrimPrefix(e.Package, module), e.Elapsed)
		}
	}
}
