// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

func someResults(t *testing.T) *Client {
	t.Helper()
	scan := result("shop", "CVE-1", "fail", "low", "Deployment/web")
	scan.Source, scan.Rule = "Trivy Vulnerability", "openssl"
	c := &cluster{t: t, namespaces: []string{"quiet"}, results: []v1alpha1.PolicyResult{
		result("shop", "require-labels", "pass", "", "CronJob/report"), result("shop", "require-probes", "fail", "medium", "Pod/web-0"), scan,
		result("shop", "no-root", "fail", "critical", "Pod/db"), result("", "nodes", "warn", "high", "Node/n1"),
	}}
	return c.client()
}

// TestResolve: names are found as people type them, and what no result has is an error that offers what there is.
func TestResolve(t *testing.T) {
	client := someResults(t)
	for _, test := range []struct{ typed, want Selection }{
		{Selection{Sources: []string{"trivy"}}, Selection{Sources: []string{"Trivy Vulnerability"}}},
		{Selection{Sources: []string{"KYVERNO"}}, Selection{Sources: []string{"kyverno"}}},
		{Selection{Policies: []string{"require-"}}, Selection{Policies: []string{"require-labels", "require-probes"}}},
		{Selection{Policies: []string{"no-root", "cve-1"}}, Selection{Policies: []string{"no-root", "CVE-1"}}},
		{Selection{Rule: "OpenSSL"}, Selection{Rule: "openssl"}},
		{Selection{Subject: "cronjob/report"}, Selection{Subject: "CronJob/report"}},
		{Selection{Subject: "cj/report"}, Selection{Subject: "CronJob/report"}},
		{Selection{Subject: "deployments.apps/web"}, Selection{Subject: "Deployment/web"}},
		{Selection{Subject: "pods"}, Selection{Subject: "Pod"}},
		{Selection{Subject: "db"}, Selection{Subject: "db"}},
		{Selection{Subject: "svc/web"}, Selection{Subject: "Service/web"}}, // kubectl's, without results.
	} {
		got, err := client.Resolve(t.Context(), Extent{Namespace: "shop"}, test.typed)
		if err != nil || !equal(got, test.want) {
			t.Errorf("%+v: got %+v, %v; want %+v", test.typed, got, err, test.want)
		}
	}
	for want, typed := range map[string]Selection{
		`no results in namespace shop have the source "falco"; there are: kyverno`: {Sources: []string{"falco"}},
		`the policy "no-rot"; there are: no-root`:                                  {Policies: []string{"no-rot"}},
		`the policy ""`:                     {Policies: []string{""}},
		`the rule "chec"; there are: check`: {Rule: "chec"},
		`the subject "Wombat"`:              {Subject: "Wombat/web"},
		`the subject "wep"; there are: `:    {Subject: "wep"},
	} {
		_, err := client.Resolve(t.Context(), Extent{Namespace: "shop"}, typed)
		var unknown *UnknownError
		if !errors.As(err, &unknown) || unknown.ExitCode() != 2 || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got the error %v, want one with %s", typed, err, want)
		}
	}
}

func equal(a, b Selection) bool {
	return slices.Equal(a.Sources, b.Sources) && slices.Equal(a.Policies, b.Policies) && a.Rule == b.Rule && a.Subject == b.Subject
}

// TestNothing: an empty answer says where it looked, and a namespace that does not exist is an error.
func TestNothing(t *testing.T) {
	client := someResults(t)
	for namespace, want := range map[string]string{
		"":      "None of the 5 results in all namespaces matches (error).\n",
		"shop":  "None of the 4 results in namespace shop matches (error). For all namespaces: -A.\n",
		"quiet": "There are no results in namespace quiet. For all namespaces: -A.\n",
	} {
		got, err := client.Nothing(t.Context(), Extent{Namespace: namespace}, Selection{Results: []string{"error"}})
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v; want %q", namespace, got, err, want)
		}
	}
	var missing *NamespaceError
	if _, err := client.Nothing(t.Context(), Extent{Namespace: "shpo"}, Selection{}); !errors.As(err, &missing) || !strings.Contains(err.Error(), `"shpo" not found`) {
		t.Errorf("got the error %v", err)
	}
	left, right := Side{client, Place{Namespace: "shop"}, "shop"}, Side{client, Place{Namespace: "shpo"}, "shpo"}
	var out strings.Builder
	if _, err := Diff(t.Context(), &out, Style{}, Table, left, right, Selection{}); !errors.As(err, &missing) {
		t.Errorf("a comparison with what does not exist: got the error %v", err)
	}
	quiet := Side{client, Place{Namespace: "quiet"}, "quiet"}
	if differ, err := Diff(t.Context(), &out, Style{}, Table, quiet, left, Selection{Sources: []string{"KYV"}}); differ != 3 || err != nil {
		t.Errorf("with a source that one side has: %d differences, %v; want 3", differ, err)
	}
	if _, err := Diff(t.Context(), &out, Style{}, Table, quiet, left, Selection{Sources: []string{"falco"}}); !errors.As(err, new(*UnknownError)) {
		t.Errorf("with a source that no side has: got the error %v", err)
	}
	err := client.Why(t.Context(), &out, Style{}, Table, "shop", "pod/web-1", false)
	var unknown *UnknownError
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), "Pod/web-1") || !strings.Contains(err.Error(), "Pod/web-0") {
		t.Errorf("got the error %v", err)
	}
}

// TestWorstFirst: results come in the order of how bad they are, also those outside namespaces, up to the limit.
func TestWorstFirst(t *testing.T) {
	client := someResults(t)
	for limit, want := range map[int]string{0: "no-root require-probes CVE-1 nodes require-labels", 2: "no-root require-probes", 4: "no-root require-probes CVE-1 nodes"} {
		var got []string
		more, err := client.WorstFirst(t.Context(), "", Selection{}, limit, func(r *v1alpha1.PolicyResult) error {
			got = append(got, r.Policy)
			return nil
		})
		if err != nil || strings.Join(got, " ") != want || more != (limit > 0) {
			t.Errorf("limit %d: got %v, more %v, %v; want %s", limit, got, more, err, want)
		}
	}
}

// TestDocuments: answers can be read by programs.
func TestDocuments(t *testing.T) {
	client := someResults(t)
	for format, want := range map[Format][3]string{
		JSON: {`"policy": "no-root"`, `"groups": [`, `"after": "fail"`}, YAML: {"policy: no-root", "groups:\n", "after: fail"},
	} {
		var why, top, diff strings.Builder
		err := client.Why(t.Context(), &why, Style{}, format, "shop", "po/db", false)
		if err == nil {
			_, err = client.Top(t.Context(), &top, format, Extent{}, ByPolicy, Selection{}, 7)
		}
		if err == nil {
			_, err = Diff(t.Context(), &diff, Style{}, format, Side{client, Place{Namespace: "quiet"}, "a"}, Side{client, Place{Namespace: "shop"}, "b"}, Selection{})
		}
		if err != nil || !strings.Contains(why.String(), want[0]) || !strings.Contains(top.String(), want[1]) || !strings.Contains(diff.String(), want[2]) {
			t.Errorf("%s: %v\n%s\n%s\n%s", format, err, &why, &top, &diff)
		}
	}
	if err := client.Why(t.Context(), nil, Style{}, "xml", "shop", "po/db", false); err == nil || !strings.Contains(err.Error(), "table, json, yaml") {
		t.Errorf("got the error %v", err)
	}
}
