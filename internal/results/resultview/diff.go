// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"strings"

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

// Diff prints how results on the right differ from those on the left, a line for each resource and rule, and returns
// how many do. Namespaces and clusters of resources are left out of the comparison: it is between two of them.
func Diff(ctx context.Context, out io.Writer, style Style, left, right Side, by Selection) (int, error) {
	before, err := left.findings(ctx, by)
	if err != nil {
		return 0, err
	}
	after, err := right.findings(ctx, by)
	if err != nil {
		return 0, err
	}
	p := printer{out: out, style: style}
	p.line("--- %s", clean(left.Name))
	p.line("+++ %s", clean(right.Name))
	all := maps.Clone(before)
	maps.Copy(all, after)
	differ := 0
	for _, f := range slices.SortedFunc(maps.Keys(all), finding.compare) {
		was, is := strings.Join(before[f], ","), strings.Join(after[f], ",")
		if was == is {
			continue
		}
		differ++
		rule := f.policy
		if f.rule != "" {
			rule += " / " + f.rule
		}
		p.line("%s  %s: %s -> %s", clean(strings.Trim(f.kind+"/"+f.name, "/")), clean(rule), p.style.mark(orNone(was)), p.style.mark(orNone(is)))
	}
	return differ, p.err
}

func orNone(results string) string { return cmp.Or(results, "none") }

// findings reads what is compared of a side.
func (s Side) findings(ctx context.Context, by Selection) (map[finding][]string, error) {
	found := map[finding][]string{}
	_, err := s.Results(ctx, s.Place, by, 0, func(r *v1alpha1.PolicyResult) error {
		f := findingOf(r)
		found[f] = append(found[f], r.Result.Result)
		return nil
	})
	for f := range found {
		slices.Sort(found[f])
	}
	return found, err
}
