// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// recorder is a test that notes its failures.
type recorder struct {
	testing.TB

	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

// failuresOf runs a test and returns its failures.
func failuresOf(t *testing.T, test func(testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		test(r)
	}()
	<-ended
	return strings.Join(r.failures, "\n")
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait     func(testing.TB)
		failures string
		waits    time.Duration
	}{
		"at once":       {func(t testing.TB) { Eventually(t, "it", func() bool { return true }) }, "", 0},
		"never":         {func(t testing.TB) { Eventually(t, "it", func() bool { return false }) }, "not within 2m0s: it", Patience},
		"third attempt": {func(t testing.TB) { Succeeds(t, "it", failing(2)) }, "", 2 * interval},
		"no attempt":    {func(t testing.TB) { Succeeds(t, "it", failing(1e9)) }, "not within 2m0s: it: broken", Patience},
		"a problem":     {func(t testing.TB) { Settles(t, func() string { return "worn" }) }, "not within 2m0s: worn", Patience},
		"settled":       {func(t testing.TB) { Settles(t, func() string { return "" }) }, "", 0},
		"nothing comes": {func(t testing.TB) { Receive(t, "a value", make(chan int)) }, "not within 2m0s: a value", Patience},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				if got := failuresOf(t, test.wait); got != test.failures {
					t.Errorf("failures are %q, want %q", got, test.failures)
				}
				if waited := time.Since(start); waited != test.waits {
					t.Errorf("it waited for %s, want %s", waited, test.waits)
				}
			})
		})
	}
}

// TestErrorsAndDifferences: an error ends a test, a difference does not.
func TestErrorsAndDifferences(t *testing.T) {
	t.Parallel()
	two := func(err error) (int, string, error) { return 2, "two", err }
	one := func(err error) (int, error) { return 1, err }
	for name, test := range map[string]struct {
		do   func(testing.TB)
		want string
	}{
		"no error": {func(t testing.TB) { NoError(t, nil); t.Errorf("on") }, "on"},
		"an error": {func(t testing.TB) { NoError(t, failing(1)()); t.Errorf("on") }, "broken"},
		"a value":  {func(t testing.TB) { t.Errorf("%d", Must(one(nil))(t)) }, "1"},
		"no value": {func(t testing.TB) { t.Errorf("%d", Must(one(failing(1)()))(t)) }, "broken"},
		"two": {func(t testing.TB) {
			number, text := Must2(two(nil))(t)
			t.Errorf("%d %s", number, text)
		}, "2 two"},
		"not two":      {func(t testing.TB) { Must2(two(failing(1)()))(t); t.Errorf("on") }, "broken"},
		"no diff":      {func(t testing.TB) { NoDiff(t, "", "a %s", "list"); t.Errorf("on") }, "on"},
		"a difference": {func(t testing.TB) { NoDiff(t, "-1\n+2", "a %s", "list"); t.Errorf("on") }, "a list:\n-1\n+2\non"},
	} {
		if got := failuresOf(t, test.do); got != test.want {
			t.Errorf("%s: the test says %q, want %q", name, got, test.want)
		}
	}
}

func failing(times int) func() error {
	return func() error {
		if times--; times < 0 {
			return nil
		}
		return errors.New("broken")
	}
}

func TestReceive(t *testing.T) {
	t.Parallel()
	values := make(chan int, 1)
	values <- 7
	if got, open := Receive(t, "a value", values); got != 7 || !open {
		t.Errorf("received %d, open %t", got, open)
	}
	close(values)
	if _, open := Receive(t, "the end", values); open {
		t.Error("a closed channel is open")
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	calls := 0
	got := failuresOf(t, func(t testing.TB) {
		stop := Run(t, "the server", func(ctx context.Context) error {
			<-ctx.Done()
			calls++
			return errors.New("broken")
		})
		stop()
		stop()
	})
	if calls != 1 || got != "run the server: broken" {
		t.Errorf("it ended %d times with the failures %q", calls, got)
	}
}

// TestRunEndsAfterCleanUp: while functions that clean up run, what they need is there.
func TestRunEndsAfterCleanUp(t *testing.T) {
	t.Parallel()
	ended := false
	t.Run("test", func(t *testing.T) { // Its end is what this test is about.
		running := make(chan context.Context, 1)
		Run(t, "the server", func(ctx context.Context) error {
			running <- ctx
			<-ctx.Done()
			ended = true
			return nil
		})
		ctx := <-running
		t.Cleanup(func() {
			if ctx.Err() != nil {
				t.Error("it is told to end before functions that clean up have run")
			}
		})
	})
	if !ended {
		t.Error("the test ended before it")
	}
}
