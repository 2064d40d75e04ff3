// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package producers keeps what tests did with programs that write or read reports: one
// file a program, from which docs/produce/producers.md gets its table. Tests write the files only
// where they are asked to, so that a run that nobody looks at leaves nothing behind.
package producers

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// folderVariable names the folder that tests write to.
const folderVariable = "DOCKET_PRODUCERS"

// Way is how a program took part.
type Way string

// The ways.
const (
	// Live means that the program ran in the test.
	Live Way = "program"
	// Recording means that the test sent what the program had sent to CRDs before.
	Recording Way = "recording"
)

// Run is what a test did with one program.
type Run struct {
	// Program is its name, as its authors write it.
	Program string `json:"program"`
	// Version that was run.
	Version string `json:"version"`
	// Source is where it came from: a Go module, Debian, npm, a tag.
	Source string `json:"source"`
	// Way is how it took part.
	Way Way `json:"way"`
	// Did is what was run, as one phrase.
	Did string `json:"did"`
	// Engines of Docket that it ran on.
	Engines []string `json:"engines"`
	// Result is the outcome, as one phrase.
	Result string `json:"result"`
	// Date of the run, or of the recording.
	Date Date `json:"date"`
}

// Date is a day; a table with times of day would change with each run.
type Date struct{ time.Time }

// MarshalText implements encoding.TextMarshaler.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.UTC().Format(time.DateOnly)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Date) UnmarshalText(text []byte) error {
	day, err := time.Parse(time.DateOnly, string(text))
	if err != nil {
		return fmt.Errorf("date %q is not like 2026-01-31: %w", text, err)
	}
	d.Time = day
	return nil
}

// Folder is where tests are asked to write to, "" if they are not.
func Folder() string { return os.Getenv(folderVariable) }

// notInNames are the characters that file names don't get.
var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// file is the name for a run; a later one of the same program replaces it.
func (r Run) file() string {
	return strings.Trim(notInNames.ReplaceAllString(strings.ToLower(r.Program), "-"), "-") + "-" + string(r.Way) + ".json"
}

// check names the field that has no value, or a wrong one.
func (r Run) check() error {
	var errs []error
	for field, value := range map[string]string{
		"program": r.Program, "version": r.Version, "source": r.Source, "did": r.Did, "result": r.Result, "engines": strings.Join(r.Engines, ""),
	} {
		if value == "" {
			errs = append(errs, fmt.Errorf("%s is empty: say what was run", field))
		}
		if strings.ContainsAny(value, "|\n") {
			errs = append(errs, fmt.Errorf("%s has a line break or a bar, which would break the table", field))
		}
	}
	if r.Way != Live && r.Way != Recording {
		errs = append(errs, fmt.Errorf("way is %q: it has to be %q or %q", r.Way, Live, Recording))
	}
	if r.Date.IsZero() {
		errs = append(errs, errors.New("date is empty: say when it was run"))
	}
	return errors.Join(errs...)
}

// Write puts a run into a folder.
func Write(folder string, r Run) error {
	if err := r.check(); err != nil {
		return fmt.Errorf("a run of %q: %w", r.Program, err)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // A page of the documentation.
		return err
	}
	return os.WriteFile(filepath.Join(folder, r.file()), append(data, '\n'), 0o644) //nolint:gosec // As above.
}

// Read returns all runs of a folder, by program and way.
func Read(folder string) ([]Run, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, err
	}
	runs := make([]Run, len(files))
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(json.Unmarshal(data, &runs[i]), runs[i].check()); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	slices.SortFunc(runs, func(a, b Run) int {
		return strings.Compare(strings.ToLower(a.Program)+" "+string(a.Way), strings.ToLower(b.Program)+" "+string(b.Way))
	})
	return runs, nil
}
