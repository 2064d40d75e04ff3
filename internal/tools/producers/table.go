// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package producers

import (
	"fmt"
	"strings"
	"time"
)

// The lines of the page between which the table is.
const (
	begin = "<!-- programs: written by make generate from docs/produce/producers/*.json -->\n"
	end   = "<!-- end of programs -->\n"
)

// Table is the runs in Markdown.
func Table(runs []Run) string {
	var table strings.Builder
	table.WriteString("| program | version | from | what was run | Docket on | result | date |\n|---|---|---|---|---|---|---|\n")
	for _, r := range runs {
		did := r.Did
		if r.Way == Recording {
			did = "recorded, then replayed: " + did
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %s | %s |\n",
			r.Program, r.Version, r.Source, did, strings.Join(r.Engines, ", "), r.Result, r.Date.UTC().Format(time.DateOnly))
	}
	return table.String()
}

// Insert returns the page with the table in place of the one that is there.
func Insert(page, table string) (string, error) {
	before, rest, found := strings.Cut(page, begin)
	if !found {
		return "", fmt.Errorf("the page has no line %q: put it where the table belongs", strings.TrimSpace(begin))
	}
	_, after, found := strings.Cut(rest, end)
	if !found {
		return "", fmt.Errorf("the page has no line %q: put it after the table", strings.TrimSpace(end))
	}
	return before + begin + table + end + after, nil
}
