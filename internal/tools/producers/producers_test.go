// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package producers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func run(program string, way Way) Run {
	return Run{
		Program: program, Version: "1.2", Source: "npm", Way: way, Did: "lists", Engines: []string{"SQLite", "PostgreSQL"},
		Result: "as with CRDs", Date: Date{time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)},
	}
}

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "new")
	want := []Run{run("A tool", Live), run("A tool", Recording), run("b@c/d", Live)}
	older := want[2]
	older.Version = "1.1"
	for _, r := range []Run{older, want[2], want[1], want[0]} {
		testkit.NoError(t, Write(folder, r))
	}
	got := testkit.Must(Read(folder))(t)
	testkit.NoDiff(t, cmp.Diff(want, got), "what was written is not what is read (-want +got)")
	if _, err := os.Stat(filepath.Join(folder, "b-c-d-program.json")); err != nil {
		t.Error(err)
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*Run){
		"version": func(r *Run) { r.Version = "" },
		"did":     func(r *Run) { r.Did = "a | b" },
		"engines": func(r *Run) { r.Engines = nil },
		"way":     func(r *Run) { r.Way = "guess" },
		"date":    func(r *Run) { r.Date = Date{} },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			r := run("x", Live)
			change(&r)
			if err := Write(t.TempDir(), r); err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("got %v, want an error that names %s", err, field)
			}
		})
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	page := "before\n" + begin + "old\n" + end + "after\n"
	got := testkit.Must(Insert(page, Table([]Run{run("A tool", Recording)})))(t)
	for _, want := range []string{"before\n", "| A tool | 1.2 | npm | recorded, then replayed: lists | SQLite, PostgreSQL | as with CRDs | 2026-02-03 |", "after\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page has no %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "old") {
		t.Errorf("the old table is still there:\n%s", got)
	}
	for _, broken := range []string{"nothing", begin + "no end"} {
		if _, err := Insert(broken, ""); err == nil {
			t.Errorf("no error for %q", broken)
		}
	}
}
