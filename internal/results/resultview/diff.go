// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// Side is one of two places that are compared.
type Side struct {
	*Client
	Place

	// Name for people.
	Name string
}

// finding is what is compared: what a rule says about a resource, wherever that is.
type finding struct{ source, policy, rule, kind, name string }

func findingOf(r *v1alpha1.PolicyResult) finding {
	f := finding{source: r.Source, policy: r.Policy, rule: r.Rule}
	if r.Subject != nil {
		f.kind, f.name = r.Subject.Kind, r.Subject.Name
	}
	return f
}

func (f finding) compare(g finding) int {
	return cmp.Or(strings.Compare(f.kind, g.kind), strings.Compare(f.name, g.name), strings.Compare(f.source, g.source),
		strings.Compare(f.policy, g.policy), strings.Compare(f.rule, g.rule))
}

// Difference is what a rule says about a resource on both sides; the texts are the results, "" for none.
type Difference struct {
	Subject string `json:"subject"`
	Source  string `json:"source,omitempty"`
	Policy  string `json:"policy,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Before  string `json:"before,omitempty"`
	After   string `json:"after,omitempty"`
}

// Diff prints how results on the right differ from those on the left: how many of each policy are new, gone and
// changed, then a line for each resource and rule. It returns how many there are. Namespaces and clusters of resources
// are left out of the comparison: it is between two of them. Both namespaces have to exist.
func Diff(ctx context.Context, out io.Writer, style Style, format Format, left, right Side, by Selection) (int, error) {
	if err := checkDocument(format); err != nil {
		return 0, err
	}
	var unknown *UnknownError // One side may lack what the other one has.
	before, errBefore := left.findings(ctx, by)
	if errBefore != nil && !errors.As(errBefore, &unknown) {
		return 0, errBefore
	}
	after, errAfter := right.findings(ctx, by)
	if errAfter != nil && (errBefore != nil || !errors.As(errAfter, &unknown)) {
		return 0, errAfter
	}
	differences := compare(before, after)
	if format != Table {
		return len(differences), writeDocument(out, format, append([]Difference{}, differences...))
	}
	p := printer{out: out, style: style}
	p.line("--- %s", clean(left.Name))
	p.line("+++ %s", clean(right.Name))
	if err := printTotals(&p, differences); err != nil {
		return 0, err
	}
	for _, d := range differences {
		rule := d.Policy
		if d.Rule != "" {
			rule += " / " + d.Rule
		}
		p.line("%s  %s: %s -> %s", clean(d.Subject), clean(rule), p.style.mark(orNone(d.Before)), p.style.mark(orNone(d.After)))
	}
	return len(differences), p.err
}

// compare returns what differs, in the order of subjects and rules.
func compare(before, after map[finding][]string) []Difference {
	all := map[finding][]string{}
	maps.Copy(all, before)
	maps.Copy(all, after)
	var differences []Difference
	for _, f := range slices.SortedFunc(maps.Keys(all), finding.compare) {
		was, is := strings.Join(before[f], ","), strings.Join(after[f], ",")
		if was != is {
			differences = append(differences, Difference{
				Subject: strings.Trim(f.kind+"/"+f.name, "/"), Source: f.source, Policy: f.policy, Rule: f.rule, Before: was, After: is,
			})
		}
	}
	return differences
}

// printTotals prints how many differences each policy has, those with most first.
func printTotals(p *printer, differences []Difference) error {
	type total struct {
		policy               string
		added, gone, changed int
	}
	byPolicy := map[string]*total{}
	for _, d := range differences {
		t := byPolicy[d.Policy]
		if t == nil {
			t = &total{policy: d.Policy}
			byPolicy[d.Policy] = t
		}
		switch {
		case d.Before == "":
			t.added++
		case d.After == "":
			t.gone++
		default:
			t.changed++
		}
	}
	if len(byPolicy) == 0 || p.err != nil {
		return p.err
	}
	totals := slices.SortedFunc(maps.Values(byPolicy), func(a, b *total) int {
		return cmp.Or(cmp.Compare(b.added+b.gone+b.changed, a.added+a.gone+a.changed), strings.Compare(a.policy, b.policy))
	})
	table := tabwriter.NewWriter(p.out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(table, "\nPOLICY\tNEW\tGONE\tCHANGED")
	for _, t := range totals {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\n", shortened(clean(cmp.Or(t.policy, "<none>")), cellWidth), t.added, t.gone, t.changed)
	}
	fmt.Fprintln(table)
	return table.Flush()
}

func orNone(results string) string { return cmp.Or(results, "none") }

// findings reads what is compared of a side.
func (s Side) findings(ctx context.Context, by Selection) (map[finding][]string, error) {
	if err := s.CheckNamespace(ctx, s.Namespace); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	by, err := s.Resolve(ctx, Extent{Namespace: s.Namespace}, by)
	if err != nil {
		return nil, err
	}
	found := map[finding][]string{}
	_, err = s.Results(ctx, s.Place, by, 0, func(r *v1alpha1.PolicyResult) error {
		f := findingOf(r)
		found[f] = append(found[f], r.Result.Result)
		return nil
	})
	for f := range found {
		slices.Sort(found[f])
	}
	return found, err
}
