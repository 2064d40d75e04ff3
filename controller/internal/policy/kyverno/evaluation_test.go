// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
)

func TestCanceledPolicies(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, p := range []policy.Policy{
		compile(t, clusterPolicy(podRule(unprivileged))), compile(t, validatingPolicy), compileAny(t, "apiVersion: v1\nkind: X\nmetadata: {name: x}\n"),
	} {
		if _, err := p.Evaluate(ctx, subject(t, badPod)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", p.Identity(), err)
		}
		if _, err := p.Review(ctx, create(t, badPod)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s reviews: %v", p.Identity(), err)
		}
	}
}

// TestPanicOfTheEngine uses a number that JSON does not have, over which Kyverno panics.
func TestPanicOfTheEngine(t *testing.T) {
	t.Parallel()
	p := compile(t, clusterPolicy(podRule(`
validate: {deny: {conditions: {any: [{key: "{{ request.object.spec.x }}", operator: Equals, value: 1}]}}}
`)+strings.Replace(podRule(`validate: {pattern: {metadata: {name: "?*"}}}`), "name: r", "name: second", 1)))
	s := subject(t, badPod)
	s.Object.Object["spec"].(map[string]any)["x"] = uint8(1)
	results := want(t, p, s, "r:error", "second:pass")
	if !strings.Contains(results[0].Message, "panicked") {
		t.Errorf("message %q", results[0].Message)
	}
}

// TestNothing promises that a subject without an object is none.
func TestNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{clusterPolicy(podRule(unprivileged)), validatingPolicy} {
		if results, err := compile(t, text).Evaluate(t.Context(), policy.Subject{}); err != nil || results != nil {
			t.Errorf("%+v, %v", results, err)
		}
	}
}

// TestConcurrentEvaluation promises the same results to all who ask at the same time, while others
// compile. The race detector sees more.
func TestConcurrentEvaluation(t *testing.T) {
	t.Parallel()
	texts := []string{clusterPolicy(podRule(unprivileged)), validatingPolicy, withContext(contexts["apiCall"]), withMatchCondition}
	for _, rule := range []string{
		`validate: {podSecurity: {level: baseline, version: latest}}`,
		`validate: {cel: {expressions: [{expression: "has(object.metadata.labels)"}]}}`, `
reportProperties: {a: "{{ request.object.metadata.name }}"}
context: [{name: first, variable: {value: {deep: "{{ request.object.metadata.name }}"}}}]
validate:
  message: "{{ first.deep }}"
  foreach:
  - list: request.object.spec.containers
    pattern: {image: "*:*"}
`, `validate: {message: "{{ request.object.metadata.name }}", anyPattern: [{metadata: {name: "{{ request.object.metadata.name }}"}}]}`,
	} {
		texts = append(texts, clusterPolicy(podRule(rule)))
	}
	subjects := []policy.Subject{subject(t, goodPod), subject(t, badPod), subject(t, badDeployment)}
	var policies []policy.Policy
	var expected [][]policy.Result
	for _, text := range texts {
		p := compile(t, text, exception, celException)
		policies = append(policies, p)
		for _, s := range subjects {
			results, _ := evaluate(t, p, s)
			expected = append(expected, results)
		}
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				compileAny(t, validatingPolicy)
				n := 0
				for _, p := range policies {
					for _, s := range subjects {
						results, _ := evaluate(t, p, s)
						wantEqual(t, p.Identity().String(), expected[n], results)
						n++
					}
				}
			}
		})
	}
	group.Wait()
}
