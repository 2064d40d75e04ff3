// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Tally has the numbers of the files of one kind of policies.
type Tally struct {
	Kind                                              string
	Files, Results, Agree, Disagree, Missing, Allowed int
}

// Tallies returns the numbers by kind, and their sum under the kind TOTAL. Results that the
// allow-list has are in Allowed and not in Missing.
func (o *Outcome) Tallies() []Tally {
	byKind := map[string]*Tally{}
	total := Tally{Kind: "TOTAL"}
	for kind, files := range o.Files {
		byKind[kind] = &Tally{Kind: kind, Files: files}
		total.Files += files
	}
	for _, c := range o.Comparisons {
		for _, tally := range []*Tally{byKind[c.Kind], &total} {
			tally.add(c)
		}
	}
	var tallies []Tally
	for _, tally := range byKind {
		tallies = append(tallies, *tally)
	}
	slices.SortFunc(tallies, func(a, b Tally) int {
		if a.Kind < b.Kind {
			return -1
		}
		return 1
	})
	return append(tallies, total)
}

func (t *Tally) add(c Comparison) {
	t.Results++
	switch {
	case c.Verdict == Agree:
		t.Agree++
	case c.Verdict == Disagree:
		t.Disagree++
	case c.Reason != "":
		t.Allowed++
	default:
		t.Missing++
	}
}

// Good reports whether everything agrees except for the entries of the allow-list.
func (o *Outcome) Good() bool {
	total := o.Tallies()[len(o.Files)]
	return total.Disagree == 0 && total.Missing == 0 && len(o.Broken) == 0 && len(o.Changed) == 0
}

// Print writes what does not agree, what was left out and why, and the numbers. With details,
// it names all files that were left out.
func (o *Outcome) Print(w io.Writer, details bool) error {
	for _, err := range o.Broken {
		fmt.Fprintln(w, "Broken:", err)
	}
	for _, err := range o.Changed {
		fmt.Fprintln(w, "Changed by the reports:", err)
	}
	for _, c := range o.Comparisons {
		switch {
		case c.Verdict == Agree:
		case c.Reason != "":
			fmt.Fprintf(w, "Missing, allowed: %s (%s)\n", c, c.Reason)
		case c.Verdict == Missing:
			fmt.Fprintln(w, "Missing:", c)
		default:
			fmt.Fprintln(w, "Disagree:", c)
		}
	}
	for _, key := range o.NotNeeded {
		fmt.Fprintln(w, "In the allow-list, and not needed:", key)
	}
	if details {
		for _, left := range o.LeftOut {
			fmt.Fprintf(w, "Left out: %s: %s\n", left.File, left.Reason)
		}
	}
	return o.printNumbers(w)
}

func (o *Outcome) printNumbers(w io.Writer) error {
	type count struct{ files, results int }
	reasons := map[string]count{}
	var names []string
	for _, left := range o.LeftOut {
		c, ok := reasons[left.Reason]
		if !ok {
			names = append(names, left.Reason)
		}
		reasons[left.Reason] = count{c.files + 1, c.results + left.Results}
	}
	slices.Sort(names)
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	if len(names) > 0 {
		fmt.Fprintln(table, "LEFT OUT BECAUSE\tFILES\tRESULTS")
	}
	for _, name := range names {
		fmt.Fprintf(table, "%s\t%d\t%d\n", name, reasons[name].files, reasons[name].results)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(table, "POLICIES\tFILES\tRESULTS\tAGREE\tDISAGREE\tMISSING\tALLOWED")
	for _, t := range o.Tallies() {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", t.Kind, t.Files, t.Results, t.Agree, t.Disagree, t.Missing, t.Allowed)
	}
	return table.Flush()
}
