// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// reported is a policy of which only these two are needed.
type reported struct {
	policy.Policy

	id       policy.Identity
	excluded bool
}

func (r reported) Identity() policy.Identity { return r.id }
func (r reported) Reported() bool            { return !r.excluded }

func TestCompare(t *testing.T) {
	t.Parallel()
	const pass, fail, warn, broken = report.OutcomePass, report.OutcomeFail, report.OutcomeWarn, report.OutcomeError
	p, excluded := policy.Identity{Kind: policy.ClusterPolicy, Name: "p"}, policy.Identity{Kind: policy.ClusterPolicy, Name: "excluded"}
	pod := func(name string) policy.Reference {
		return policy.Reference{APIVersion: "v1", Kind: "Pod", Namespace: "a", Name: name}
	}
	before := func(id policy.Identity, name string, outcomes ...report.Outcome) []Finding {
		var list []Finding
		for _, outcome := range outcomes {
			subject := pod(name)
			subject.UID = "only in a cluster"
			list = append(list, Finding{Policy: id, Subject: subject, Rule: "r", Outcome: outcome, Severity: report.SeverityHigh, Message: string(outcome)})
		}
		return list
	}
	for name, test := range map[string]struct {
		before            []Finding
		after             []report.Outcome
		want              string
		failures, errored int64
	}{
		"nothing":             {},
		"passes":              {before: before(p, "x", pass), after: []report.Outcome{pass}},
		"as before":           {before: before(p, "x", fail, pass), after: []report.Outcome{pass, fail}, want: "unchanged"},
		"new":                 {before: before(p, "x", pass), after: []report.Outcome{fail}, want: "new fail (fail)", failures: 1},
		"two new":             {after: []report.Outcome{fail, fail}, want: "new fail (fail) and fail (fail)", failures: 2},
		"fixed":               {before: before(p, "x", fail), after: []report.Outcome{pass}, want: "fixed was fail (fail)"},
		"no longer matched":   {before: before(p, "x", warn), want: "fixed was warn (warn)"},
		"worse":               {before: before(p, "x", warn), after: []report.Outcome{fail}, want: "changed was warn (warn), is fail (fail)", failures: 1},
		"better":              {before: before(p, "x", fail, fail), after: []report.Outcome{fail}, want: "changed was fail (fail) and fail (fail), is fail (fail)"},
		"one more":            {before: before(p, "x", fail), after: []report.Outcome{fail, fail}, want: "changed was fail (fail), is fail (fail) and fail (fail)", failures: 1},
		"breaks":              {before: before(p, "x", fail), after: []report.Outcome{broken}, want: "changed was fail (fail), is error (error)", errored: 1},
		"not in files":        {before: before(p, "other", fail)},
		"another policy":      {before: before(policy.Identity{Kind: policy.ClusterPolicy, Name: "q"}, "x", fail)},
		"an excluded policy":  {before: before(excluded, "x", fail)},
		"another kind's name": {before: []Finding{{Policy: p, Subject: policy.Reference{APIVersion: "example.com/v1", Kind: "Pod", Namespace: "a", Name: "x"}, Rule: "r", Outcome: fail}}},
	} {
		findings := NewFindings(false)
		presentation := policy.Presentation{Scored: true, Severity: report.SeverityHigh}
		findings.present(p, presentation)
		findings.present(excluded, presentation)
		for _, outcome := range test.after {
			findings.add(p, pod("x"), manifest.Place{File: "f", Line: 1}, []policy.Result{{Rule: "r", Outcome: outcome, Message: string(outcome)}})
		}
		findings.add(excluded, pod("x"), manifest.Place{}, []policy.Result{{Outcome: fail}})
		d := Compare(test.before, findings, []policy.Policy{reported{id: p}, reported{id: excluded, excluded: true}}, func(subject policy.Reference) bool {
			return resourceOf(subject) == resourceOf(pod("x"))
		})
		var got []string
		for word, list := range map[string][]Change{"new": d.New, "fixed": d.Fixed, "changed": d.Changed} {
			for _, change := range list {
				got = append(got, word+" "+change.sentence())
			}
		}
		for range d.Unchanged {
			got = append(got, "unchanged")
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if a, b, c := d.Added(fail, report.SeverityCritical), d.Added(fail, report.SeverityHigh), d.Added(broken, report.SeverityInfo); a != 0 || b != test.failures || c != test.errored {
			t.Errorf("%s: added %d critical, %d high, %d errors; want 0, %d, %d", name, a, b, c, test.failures, test.errored)
		}
	}
}

// TestFilesHave: a resource is the same in each version of its kind.
func TestFilesHave(t *testing.T) {
	t.Parallel()
	loader := manifest.Loader{Stdin: strings.NewReader("apiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: x}\n")}
	set, err := loader.Load(manifest.Stdin)
	if err != nil {
		t.Fatal(err)
	}
	files, err := NewFiles(set.Objects, FilesOptions{Namespace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for subject, want := range map[policy.Reference]bool{
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "x", UID: "u"}: true,
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "a", Name: "y"}:           false,
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "b", Name: "x"}:           false,
		{APIVersion: "v1", Kind: "Deployment", Namespace: "a", Name: "x"}:                false,
	} {
		if files.Has(subject) != want {
			t.Errorf("%v: %v", subject, !want)
		}
	}
}
