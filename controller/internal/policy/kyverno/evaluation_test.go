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
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

func TestCanceledPolicies(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, p := range []policy.Policy{
		compile(t, enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged))), compile(t, enginetest.ValidatingPolicy), compileAny(t, "apiVersion: v1\nkind: X\nmetadata: {name: x}\n"),
	} {
		if _, err := p.Evaluate(ctx, enginetest.Subject(t, enginetest.BadPod)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", p.Identity(), err)
		}
		if _, err := p.Review(ctx, enginetest.Create(t, enginetest.BadPod)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s reviews: %v", p.Identity(), err)
		}
	}
}

// TestPanicOfTheEngine uses a number that JSON does not have, over which Kyverno panics.
func TestPanicOfTheEngine(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(`
validate: {deny: {conditions: {any: [{key: "{{ request.object.spec.x }}", operator: Equals, value: 1}]}}}
`)+strings.Replace(enginetest.PodRule(`validate: {pattern: {metadata: {name: "?*"}}}`), "name: r", "name: second", 1)))
	s := enginetest.Subject(t, enginetest.BadPod)
	s.Object.Object["spec"].(map[string]any)["x"] = uint8(1)
	results := enginetest.Want(t, p, s, "r:error", "second:pass")
	if !strings.Contains(results[0].Message, "panicked") {
		t.Errorf("message %q", results[0].Message)
	}
}

// TestNothing promises that a subject without an object is none.
func TestNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), enginetest.ValidatingPolicy} {
		if results, err := compile(t, text).Evaluate(t.Context(), policy.Subject{}); err != nil || results != nil {
			t.Errorf("%+v, %v", results, err)
		}
	}
}

// TestConcurrentEvaluation promises the same results to all who ask at the same time, while others
// compile. The race detector sees more.
func TestConcurrentEvaluation(t *testing.T) {
	t.Parallel()
	texts := []string{enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), enginetest.ValidatingPolicy, withContext(contexts["apiCall"]), enginetest.WithMatchCondition}
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
		texts = append(texts, enginetest.ClusterPolicy(enginetest.PodRule(rule)))
	}
	subjects := []policy.Subject{enginetest.Subject(t, enginetest.GoodPod), enginetest.Subject(t, enginetest.BadPod), enginetest.Subject(t, enginetest.BadDeployment)}
	var policies []policy.Policy
	var expected [][]policy.Result
	for _, text := range texts {
		p := compile(t, text, enginetest.Exception, enginetest.CELException)
		policies = append(policies, p)
		for _, s := range subjects {
			results, _ := enginetest.Evaluate(t, p, s)
			expected = append(expected, results)
		}
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 3 {
				compileAny(t, enginetest.ValidatingPolicy)
				n := 0
				for _, p := range policies {
					for _, s := range subjects {
						results, _ := enginetest.Evaluate(t, p, s)
						enginetest.WantEqual(t, p.Identity().String(), expected[n], results)
						n++
					}
				}
			}
		})
	}
	group.Wait()
}
