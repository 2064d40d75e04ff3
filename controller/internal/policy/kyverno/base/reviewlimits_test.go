// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
)

func (f *fakeEvaluation) Name(i int) string { return summary(f.Fail(i, errBusy))[:1] }

// slowToFail can't tell what its steps are about, until it is released.
type slowToFail struct{ *fakeEvaluation }

func (s *slowToFail) Fail(i int, cause error) []policy.Result {
	<-s.release
	return s.fakeEvaluation.Fail(i, cause)
}

func TestReviewTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &Limits{Timeout: time.Minute}
		for _, test := range []struct{ left, own, want time.Duration }{
			{time.Second, 0, 950 * time.Millisecond}, {10 * time.Second, 3 * time.Second, 3 * time.Second},
			{time.Hour, 0, time.Minute}, {0, 2 * time.Second, 2 * time.Second},
		} {
			ctx, cancel := context.WithCancel(t.Context())
			if test.left > 0 {
				ctx, cancel = context.WithTimeout(t.Context(), test.left)
			}
			start, work := time.Now(), newFake(3, -1, 1)
			results, err := l.Review(ctx, test.own, work)
			if err != nil || summary(results) != "0:pass 1:error 2:error" || !strings.Contains(results[1].Message, test.want.String()) {
				t.Errorf("%+v, %v, want %s", results, err, test.want)
			}
			if took := time.Since(start); took != test.want {
				t.Errorf("it took %s, want %s", took, test.want)
			}
			close(work.release)
			cancel()
		}
		over, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		<-over.Done()
		if results, err := l.Review(over, 0, newFake(2, -1, -1)); err != nil || summary(results) != "0:error 1:error" {
			t.Errorf("after the time: %+v, %v", results, err)
		}
		synctest.Wait()
	})
}

// TestReviewWhoseFailureTakesLong promises that rules count as matching, after a moment, and that
// few goroutines find out what for.
func TestReviewWhoseFailureTakesLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &Limits{Timeout: time.Second}
		var blocked []*fakeEvaluation
		for i := range 2 * maxAbandoned {
			work := newFake(3, -1, 0)
			blocked = append(blocked, work)
			start := time.Now()
			results, err := l.Review(t.Context(), 0, &slowToFail{work})
			if err != nil || summary(results) != "0:error 1:error 2:error" {
				t.Fatalf("%+v, %v", results, err)
			}
			if took := time.Since(start); took > l.Timeout+failTime || i >= maxAbandoned && took != 0 {
				t.Errorf("it took %s", took)
			}
		}
		if left := l.undecided.Load(); left != maxAbandoned {
			t.Errorf("%d are undecided, want %d", left, maxAbandoned)
		}
		for _, work := range blocked {
			close(work.release)
		}
		synctest.Wait()
		if left := l.undecided.Load(); left != 0 {
			t.Errorf("%d are undecided", left)
		}
	})
}

func TestCanceledReview(t *testing.T) {
	t.Parallel()
	l, work := &Limits{Timeout: time.Minute}, newFake(1, -1, 0)
	defer close(work.release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-work.started
		cancel()
	}()
	if results, err := l.Review(ctx, 0, work); !errors.Is(err, context.Canceled) || results != nil {
		t.Errorf("%+v, %v", results, err)
	}
}
