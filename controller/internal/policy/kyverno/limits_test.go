// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// fakeEvaluation has one result a step. The step in panics panics; that in blocks ends once
// released, whatever its context says.
type fakeEvaluation struct {
	count, panics, blocks int
	started, release      chan struct{}
	forgotten             int
}

func (f *fakeEvaluation) steps() int { return f.count }

func (f *fakeEvaluation) step(_ context.Context, i int) ([]policy.Result, error) {
	switch i {
	case f.panics:
		panic("surprise")
	case f.blocks:
		close(f.started)
		<-f.release
	}
	return []policy.Result{{Rule: fmt.Sprint(i), Outcome: report.OutcomePass}}, nil
}

func (f *fakeEvaluation) fail(i int, cause error) []policy.Result {
	return []policy.Result{errorResult(fmt.Sprint(i), cause)}
}

func (f *fakeEvaluation) forget() { f.forgotten++ }

func newFake(count, panics, blocks int) *fakeEvaluation {
	return &fakeEvaluation{count: count, panics: panics, blocks: blocks, started: make(chan struct{}), release: make(chan struct{})}
}

func summary(results []policy.Result) string {
	var out []string
	for _, result := range results {
		out = append(out, result.Rule+":"+string(result.Outcome))
	}
	return strings.Join(out, " ")
}

func TestPanicOfOneRule(t *testing.T) {
	t.Parallel()
	l, work := &limits{timeout: time.Minute}, newFake(3, 1, -1)
	results, err := l.run(t.Context(), work)
	if err != nil || summary(results) != "0:pass 1:error 2:pass" || !strings.Contains(results[1].Message, "surprise") || work.forgotten != 1 {
		t.Errorf("%+v, %v, forgotten %d", results, err, work.forgotten)
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &limits{timeout: time.Minute}
		var blocked []*fakeEvaluation
		for range maxAbandoned {
			work := newFake(3, -1, 1)
			blocked = append(blocked, work)
			results, err := l.run(t.Context(), work)
			if err != nil || summary(results) != "0:pass 1:error 2:error" || !strings.Contains(results[1].Message, "longer than 1m") {
				t.Fatalf("%+v, %v", results, err)
			}
		}
		results, err := l.run(t.Context(), newFake(2, -1, -1))
		if err != nil || summary(results) != "0:error 1:error" {
			t.Errorf("beside %d that have not ended: %+v, %v", maxAbandoned, results, err)
		}
		for _, work := range blocked {
			close(work.release)
		}
		synctest.Wait()
		if left := l.abandoned.Load(); left != 0 {
			t.Errorf("%d evaluations have not ended", left)
		}
		if results, err := l.run(t.Context(), newFake(1, -1, -1)); err != nil || summary(results) != "0:pass" {
			t.Errorf("after they have ended: %+v, %v", results, err)
		}
	})
}

func TestCanceledEvaluation(t *testing.T) {
	t.Parallel()
	l, work := &limits{timeout: time.Minute}, newFake(1, -1, 0)
	defer close(work.release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-work.started
		cancel()
	}()
	if results, err := l.run(ctx, work); !errors.Is(err, context.Canceled) || results != nil {
		t.Errorf("%+v, %v", results, err)
	}
	for _, p := range []policy.Policy{
		compile(t, clusterPolicy(podRule(unprivileged))), compile(t, validatingPolicy), compileAny(t, "apiVersion: v1\nkind: X\nmetadata: {name: x}\n"),
	} {
		if _, err := p.Evaluate(ctx, subject(t, badPod)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", p.Identity(), err)
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
