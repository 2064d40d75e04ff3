// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

// printed is what three runs print: a name of a benchmark before a row, the same row twice in a run, a row that one
// run lacks, and rows that differ in their first cell only.
const printed = `| | CRDs | Docket |
|---|---|---|
BenchmarkA/CRDs-2  	| create | 200/s | 1,400/s (7.00×) |
| 1000 | 5 MB |
| 2000 | 50 MB |
| memory | 3 MB |
| memory | 30 MB |
| requests | GET 4 |
ok
| create | 250/s | 1,300/s (5.20×) |
| 1000 | 7 MB |
| 2000 | 40 MB |
| memory | 1 MB |
| memory | 10 MB |
| requests | GET 4, PUT 1 |
| create | 100/s | 900/s (9.00×) |
| 1000 | 6 MB |
| 2000 | 60 MB |
| memory | 2 MB |
| memory | 20 MB |
| requests | GET 4 |
`

func TestMedians(t *testing.T) {
	var out strings.Builder
	if err := medians(strings.NewReader(strings.Repeat("| | CRDs | Docket |\n|---|---|---|\n", 2)+printed), &out, 3); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(out.String(), "Medians of 3 runs\n")
	want := `| | CRDs | Docket |
|---|---|---|
| create | 200/s | 1,300/s (7.00×) |
| 1000 | 6 MB |
| 2000 | 50 MB |
| memory | 2 MB |
| memory | 20 MB |
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(out.String(), printed) {
		t.Errorf("what the benchmark printed is not copied:\n%s", out.String())
	}
}

func TestMediansOfNothing(t *testing.T) {
	for text, runs := range map[string]int{"": 2, "| create | 1 |\n": 2, "FAIL": 3} {
		if err := medians(strings.NewReader(text), &strings.Builder{}, runs); err == nil {
			t.Errorf("%q of %d runs: no error", text, runs)
		}
	}
	var out strings.Builder
	if err := medians(strings.NewReader("| create | 1 |"), &out, 1); err != nil || out.String() != "| create | 1 |" {
		t.Errorf("one run: %q, %v", out.String(), err)
	}
}
