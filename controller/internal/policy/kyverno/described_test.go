// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"testing"

	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	reportutils "github.com/kyverno/kyverno/pkg/utils/report"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestDescribedPresentation: results of policies that only Kyverno evaluates are presented as Kyverno does.
func TestDescribedPresentation(t *testing.T) {
	t.Parallel()
	for kind, decodeAs := range map[string]func(t *testing.T, text string) engineapi.GenericPolicy{
		policy.GeneratingPolicy:           generic(engineapi.NewGeneratingPolicy, &policiesv1beta1.GeneratingPolicy{}),
		policy.NamespacedGeneratingPolicy: generic(engineapi.NewNamespacedGeneratingPolicy, &policiesv1beta1.NamespacedGeneratingPolicy{}),
	} {
		for _, evaluation := range []string{"{}", "{background: {enabled: false}}", "{background: {enabled: false}, admission: {enabled: false}}"} {
			text := `
apiVersion: policies.kyverno.io/v1
kind: ` + kind + `
metadata:
  name: p
  namespace: shop
  annotations: {policies.kyverno.io/category: Pods, policies.kyverno.io/severity: high, policies.kyverno.io/scored: "false"}
spec:
  evaluation: ` + evaluation
			p := compile(t, text)
			if p.Background() || p.Admission().Enabled || !p.Reported() || p.Problem() != nil || !policy.CoverageOf(p).None {
				t.Errorf("%s: %+v", kind, p)
			}
			want := reportutils.ToPolicyReportResult(decodeAs(t, text), *engineapi.RulePass("", engineapi.Mutation, "", nil), nil)
			enginetest.WantEqual(t, kind+" "+evaluation, policy.Presentation{
				Source: want.Source, Category: want.Category, Severity: report.Severity(want.Severity), Scored: want.Scored, Process: want.Properties["process"],
			}, p.Presentation())
			if policy.CoverageOf(p).Rules != nil {
				t.Errorf("%s has rules", kind)
			}
			if _, err := p.Evaluate(t.Context(), policy.Subject{}); err == nil {
				t.Errorf("%s is evaluated", kind)
			}
		}
	}
}

// generic returns what makes Kyverno's policy of a text.
func generic[P any](wrap func(*P) engineapi.GenericPolicy, into *P) func(*testing.T, string) engineapi.GenericPolicy {
	return func(t *testing.T, text string) engineapi.GenericPolicy {
		t.Helper()
		*into = *new(P)
		testkit.NoError(t, base.Decode(enginetest.Object(t, text), into))
		return wrap(into)
	}
}

// TestCoverage: generated rules are there by the names that they have in results.
func TestCoverage(t *testing.T) {
	t.Parallel()
	p := compile(t, `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p}
spec:
  rules:
  - name: check
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: labels, pattern: {metadata: {labels: {a: "?*"}}}}
  - name: add
    match: {any: [{resources: {kinds: [Pod]}}]}
    mutate: {patchStrategicMerge: {spec: {hostNetwork: false}}}
`)
	enginetest.WantEqual(t, "rules", map[string]bool{
		"check": true, "autogen-check": true, "autogen-cronjob-check": true,
		"add": false, "autogen-add": false, "autogen-cronjob-add": false,
	}, policy.CoverageOf(p).Rules)
}
