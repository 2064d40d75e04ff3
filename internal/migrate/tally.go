// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/docket-project/docket/internal/kit/progress"
	"github.com/docket-project/docket/internal/server/imports"
)

// listed is the number of objects that a message names; it counts the rest.
const listed = 20

// tally counts what was imported. Safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	bar     *progress.Bar
	results map[imports.Result]int
	newUIDs int
	unknown map[string]int
	kept    []string
	failed  []string
}

func newTally() *tally {
	return &tally{results: map[imports.Result]int{}, unknown: map[string]int{}}
}

// show sets the progress bar; nil for none.
func (t *tally) show(bar *progress.Bar) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bar = bar
}

// one counts an object that needed no import.
func (t *tally) one(result imports.Result) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.results[result]++
	t.bar.Add(1)
}

func (t *tally) count(kind imports.Kind, items []imports.Item, outcomes []imports.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, outcome := range outcomes {
		t.results[outcome.Result]++
		if outcome.NewUID {
			t.newUIDs++
		}
		for _, field := range outcome.Unknown {
			t.unknown[field]++
		}
		switch outcome.Result {
		case imports.Kept:
			t.kept = append(t.kept, nameOf(kind, &items[i]))
		case imports.Failed:
			t.failed = append(t.failed, nameOf(kind, &items[i])+": "+outcome.Message)
		default:
		}
	}
	t.bar.Add(int64(len(items)))
}

func nameOf(kind imports.Kind, item *imports.Item) string {
	if item.Delete != nil {
		return kind.Resource + " " + (&entry{namespace: item.Delete.Namespace, name: item.Delete.Name}).key()
	}
	e, err := parseEntry(item.Object, false)
	if err != nil {
		return kind.Resource
	}
	return kind.Resource + " " + e.key()
}

// print writes the counts, and lists what needs attention.
func (t *tally) print(w io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var parts []string
	for _, result := range []imports.Result{
		imports.Created, imports.Updated, imports.Deleted, imports.Same, imports.Kept, imports.Gone, imports.Failed,
	} {
		if n := t.results[result]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, result))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing to import")
	}
	fmt.Fprintf(w, "Imported: %s\n", strings.Join(parts, ", "))
	if t.newUIDs > 0 {
		fmt.Fprintf(w, "%d objects had no UID and were given one.\n", t.newUIDs)
	}
	printList(w, "Changed by clients in the meantime, and left as they are", t.kept)
	printList(w, "Could not be imported", t.failed)
	var unknown []string
	for field, n := range t.unknown {
		unknown = append(unknown, fmt.Sprintf("%s in %d objects", field, n))
	}
	slices.Sort(unknown)
	printList(w, "Fields that these kinds don't have were left out", unknown)
}

// failures returns an error if something could not be imported.
func (t *tally) failures() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failed) == 0 {
		return nil
	}
	return fmt.Errorf("%d objects could not be imported; the first is %s", len(t.failed), t.failed[0])
}

func printList(w io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(w, "%s (%d):\n", title, len(lines))
	for _, line := range lines[:min(len(lines), listed)] {
		fmt.Fprintf(w, "  %s\n", line)
	}
	if len(lines) > listed {
		fmt.Fprintf(w, "  and %d more\n", len(lines)-listed)
	}
}
