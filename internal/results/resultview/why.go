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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// Why prints everything that is said about one resource, by all sources: what fails first, and with it what to do,
// where the source says so. subject is KIND/NAME. Results that pass are counted, or printed too with all.
func (c *Client) Why(ctx context.Context, out io.Writer, style Style, format Format, namespace, subject string, all bool) error {
	if err := checkDocument(format); err != nil {
		return err
	}
	in := Extent{Namespace: namespace}
	if kind, name, _ := strings.Cut(subject, "/"); kind == "" || name == "" {
		return &UsageError{fmt.Sprintf("%q does not name a resource: give KIND/NAME, such as Deployment/web", subject)}
	}
	// Reports outside namespaces may be about kinds that the namespace has no results of.
	var unknown *UnknownError
	resolved, err := c.resolveSubject(ctx, in, subject)
	switch {
	case err == nil:
		subject = resolved
	case !errors.As(err, &unknown):
		return err
	}
	results, err := c.about(ctx, namespace, Selection{Subject: subject})
	if err != nil {
		return err
	}
	if len(results) == 0 {
		if unknown != nil {
			return unknown
		}
		kind, name := subjectOf(subject)
		return c.unknownName(ctx, in, kind, name)
	}
	shown := worstFirst(results, all)
	if format != Table {
		list := &listWriter{out: out, format: format}
		for i := range shown {
			if err := list.Write(&shown[i]); err != nil {
				return err
			}
		}
		return list.Close()
	}
	p := printer{out: out, style: style}
	p.line("%s", summaryLine(subject, results))
	for len(shown) > 0 {
		// Some engines report each time that something happens.
		alike := slices.IndexFunc(shown, func(r v1alpha1.PolicyResult) bool { return !sameFinding(&r.Result, &shown[0].Result) })
		if alike < 0 {
			alike = len(shown)
		}
		p.result(&shown[0].Result, alike-1)
		shown = shown[alike:]
	}
	return p.err
}

// worstFirst returns results in the order of how bad they are: those that are problems, or all.
func worstFirst(results []v1alpha1.PolicyResult, all bool) []v1alpha1.PolicyResult {
	shown := results
	if !all {
		shown = slices.DeleteFunc(slices.Clone(results), func(r v1alpha1.PolicyResult) bool { return !slices.Contains(Problems(), r.Result.Result) })
	}
	slices.SortStableFunc(shown, func(a, b v1alpha1.PolicyResult) int {
		return cmp.Or(
			cmp.Compare(rankIn(resultNames, a.Result.Result), rankIn(resultNames, b.Result.Result)),
			cmp.Compare(rankIn(severityNames, a.Severity), rankIn(severityNames, b.Severity)),
			strings.Compare(a.Source, b.Source), strings.Compare(a.Policy, b.Policy), strings.Compare(a.Rule, b.Rule),
			newestFirst(a.Timestamp, b.Timestamp),
		)
	})
	return shown
}

// sameFinding reports whether two results differ in what was found only, and not in by whom.
func sameFinding(a, b *v1alpha1.Result) bool {
	return a.Result == b.Result && a.Severity == b.Severity && a.Source == b.Source && a.Policy == b.Policy && a.Rule == b.Rule
}

func newestFirst(a, b *metav1.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	}
	return b.Compare(a.Time)
}

// about returns the results about a resource: those of its namespace, and those outside namespaces if the caller may
// read them.
func (c *Client) about(ctx context.Context, namespace string, by Selection) ([]v1alpha1.PolicyResult, error) {
	var results []v1alpha1.PolicyResult
	each := func(r *v1alpha1.PolicyResult) error {
		// A report outside namespaces may be about resources of any namespace.
		if r.Subject == nil || r.Subject.Namespace == "" || r.Subject.Namespace == namespace {
			results = append(results, *r)
		}
		return nil
	}
	if _, err := c.Results(ctx, Place{Namespace: namespace}, by, 0, each); err != nil {
		return nil, err
	}
	if _, err := c.Results(ctx, Place{Global: true}, by, 0, each); err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	return results, nil
}

// summaryLine says how many results there are of each sort.
func summaryLine(subject string, results []v1alpha1.PolicyResult) string {
	counts := map[string]int{}
	for i := range results {
		counts[results[i].Result.Result]++
	}
	var parts []string
	for _, name := range resultNames {
		if counts[name] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[name], name))
		}
	}
	return subject + ": " + strings.Join(parts, ", ")
}

// remedies are the properties in which producers say what to do.
func remedies() []string {
	return []string{"remediation", "remediations", "resolution", "fixedVersion", "solution", "howToFix"}
}

// result prints one result over several lines, and how many there are like it.
func (p *printer) result(r *v1alpha1.Result, more int) {
	head := p.style.mark(r.Result) + " " + r.Policy
	if r.Rule != "" {
		head += " / " + r.Rule
	}
	var notes []string
	for _, note := range []string{r.Severity, r.Source, r.Category} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	if len(notes) > 0 {
		head += "  (" + strings.Join(notes, ", ") + ")"
	}
	p.line("")
	p.line("%s", head)
	if r.Message != "" {
		p.paragraph(r.Message)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Properties)) {
		if slices.Contains(remedies(), name) {
			p.paragraph(name + ": " + r.Properties[name])
		}
	}
	if more > 0 {
		p.paragraph(fmt.Sprintf("and %d more of this rule", more))
	}
}
