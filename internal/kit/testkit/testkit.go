// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testkit ends tests at errors, shows differences, and waits: for a condition, for a value, for the end of
// something that runs. Only tests import it.
//
// Goroutines: that of [Run], from the call to the end of the test or to a call of the
// function that it returns.
package testkit

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

const (
	// Patience is how long tests wait for what happens at once on an idle machine.
	Patience = 2 * time.Minute
	interval = 5 * time.Millisecond
)

// Full skips a test that only make test-all runs: make test is go test -short. The test has a row in
// docs/develop/testing.md that says why it may wait; without one, the run fails.
func Full(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
}

// NoError ends the test at an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Must takes what a call returns, and returns the value to the test, or ends that at an error:
//
//	reports := testkit.Must(client.List(ctx))(t)
func Must[V any](value V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		NoError(t, err)
		return value
	}
}

// Must2 is Must for a call with two values.
func Must2[V, W any](first V, second W, err error) func(testing.TB) (V, W) {
	return func(t testing.TB) (V, W) {
		t.Helper()
		NoError(t, err)
		return first, second
	}
}

// NoDiff fails the test if there is a difference, which it shows below the words.
func NoDiff(t testing.TB, diff, format string, args ...any) {
	t.Helper()
	if diff != "" {
		t.Errorf("%s:\n%s", fmt.Sprintf(format, args...), diff)
	}
}

// Eventually returns once done does so with true. It fails the test if that takes too long;
// what says what was expected. Unlike the test's context, it also works in functions that
// clean up.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !poll(done) {
		t.Fatalf("not within %s: %s", Patience, what)
	}
}

// Succeeds returns once attempt does so without an error. If that takes too long, it fails
// the test with the last error.
func Succeeds(t testing.TB, what string, attempt func() error) {
	t.Helper()
	var last error
	if !poll(func() bool {
		last = attempt()
		return last == nil
	}) {
		t.Fatalf("not within %s: %s: %v", Patience, what, last)
	}
}

// Settles returns once there is no problem. If that takes too long, it fails the test with the last one.
func Settles(t testing.TB, problem func() string) {
	t.Helper()
	var last string
	if !poll(func() bool {
		last = problem()
		return last == ""
	}) {
		t.Fatalf("not within %s: %s", Patience, last)
	}
}

// poll calls done until it returns true, and returns false if it doesn't in time.
func poll(done func() bool) bool {
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return false
		}
	}
	return true
}

// Receive returns the next value of a channel, and false if the channel is closed. It fails
// the test if neither happens in time; what says what was expected.
func Receive[T any](t testing.TB, what string, from <-chan T) (T, bool) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	select {
	case value, open := <-from:
		return value, open
	case <-deadline.C:
		t.Fatalf("not within %s: %s", Patience, what)
	}
	var none T
	return none, false
}

// Run lets a function run beside the test. The function that it returns ends the context of
// run and waits until that returns; without a call, the end of the test does so. An error
// of run fails the test; what names run in the message.
func Run(t testing.TB, what string, run func(context.Context) error) (stop func()) {
	t.Helper()
	// The test's own context would end it before functions that clean up have run.
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run %s: %v", what, err)
		}
	})
	t.Cleanup(stop)
	return stop
}
