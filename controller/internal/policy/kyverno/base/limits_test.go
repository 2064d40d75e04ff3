// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

func (f *fakeEvaluation) Steps() int { return f.count }

func (f *fakeEvaluation) Step(_ context.Context, i int) ([]policy.Result, error) {
	switch i {
	case f.panics:
		panic("surprise")
	case f.blocks:
		close(f.started)
		<-f.release
	}
	return []policy.Result{{Rule: fmt.Sprint(i), Outcome: report.OutcomePass}}, nil
}

func (f *fakeEvaluation) Fail(i int, cause error) []policy.Result {
	return []policy.Result{ErrorResult(fmt.Sprint(i), cause)}
}

func (f *fakeEvaluation) Forget() { f.forgotten++ }

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
	l, work := &Limits{Timeout: time.Minute}, newFake(3, 1, -1)
	results, err := l.Run(t.Context(), work)
	if err != nil || summary(results) != "0:pass 1:error 2:pass" || !strings.Contains(results[1].Message, "surprise") || work.forgotten != 1 {
		t.Errorf("%+v, %v, forgotten %d", results, err, work.forgotten)
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &Limits{Timeout: time.Minute}
		var blocked []*fakeEvaluation
		for range maxAbandoned {
			work := newFake(3, -1, 1)
			blocked = append(blocked, work)
			results, err := l.Run(t.Context(), work)
			if err != nil || summary(results) != "0:pass 1:error 2:error" || !strings.Contains(results[1].Message, "longer than 1m") {
				t.Fatalf("%+v, %v", results, err)
			}
		}
		results, err := l.Run(t.Context(), newFake(2, -1, -1))
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
		if results, err := l.Run(t.Context(), newFake(1, -1, -1)); err != nil || summary(results) != "0:pass" {
			t.Errorf("after they have ended: %+v, %v", results, err)
		}
	})
}

func TestCanceledEvaluation(t *testing.T) {
	t.Parallel()
	l, work := &Limits{Timeout: time.Minute}, newFake(1, -1, 0)
	defer close(work.release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-work.started
		cancel()
	}()
	if results, err := l.Run(ctx, work); !errors.Is(err, context.Canceled) || results != nil {
		t.Errorf("%+v, %v", results, err)
	}
}
