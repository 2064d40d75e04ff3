// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// recorder gathers what happened in one phase. It is safe for concurrent use.
type recorder struct {
	mu        sync.Mutex // guards all fields
	latencies []time.Duration
	errors    map[string]int    // by class
	examples  map[string]string // the first error of each class
	bytes     int64
	writes    int
	notes     []string
	busy      time.Duration // of the phase's operations, if shorter than the phase
}

func newRecorder() *recorder {
	return &recorder{errors: map[string]int{}, examples: map[string]string{}}
}

// ok counts one operation that took d and read n bytes.
func (r *recorder) ok(d time.Duration, n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latencies = append(r.latencies, d)
	r.bytes += int64(n)
}

// wrote counts one write that the server accepted.
func (r *recorder) wrote() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes++
}

// fail counts one failure. What failed because the run is being ended is none.
func (r *recorder) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	class := classOf(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors[class]++
	if r.examples[class] == "" {
		r.examples[class] = err.Error()
	}
}

// ran sets the time that the phase's operations took.
func (r *recorder) ran(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = d
}

// note adds a line to the phase's result.
func (r *recorder) note(format string, arguments ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, fmt.Sprintf(format, arguments...))
}

// wrongAnswerError is an answer with the expected status that says something wrong.
type wrongAnswerError struct{ what string }

func (e *wrongAnswerError) Error() string { return e.what }

func wrongAnswer(format string, arguments ...any) error {
	return &wrongAnswerError{fmt.Sprintf(format, arguments...)}
}

func classOf(err error) string {
	var status *statusError
	var wrong *wrongAnswerError
	switch {
	case errors.As(err, &status):
		return fmt.Sprintf("%d %s", status.status, http.StatusText(status.status))
	case errors.As(err, &wrong):
		return "wrong answer"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection ended"
	default:
		return "connection error"
	}
}

// result is what one phase showed.
type result struct {
	Phase       string            `json:"phase"`
	Operations  int               `json:"operations"`
	Seconds     float64           `json:"seconds"`
	PerSecond   float64           `json:"perSecond"`
	P50Millis   float64           `json:"p50Millis"`
	P90Millis   float64           `json:"p90Millis"`
	P99Millis   float64           `json:"p99Millis"`
	MaxMillis   float64           `json:"maxMillis"`
	Bytes       int64             `json:"bytes"`
	Writes      int               `json:"writes,omitempty"` // That the server accepted.
	Errors      map[string]int    `json:"errors,omitempty"`
	FirstErrors map[string]string `json:"firstErrors,omitempty"`
	Notes       []string          `json:"notes,omitempty"`
}

func (r *recorder) result(phase string, elapsed time.Duration) result {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.Sort(r.latencies)
	if r.busy > 0 {
		elapsed = r.busy
	}
	return result{
		Phase:       phase,
		Operations:  len(r.latencies),
		Seconds:     elapsed.Seconds(),
		PerSecond:   float64(len(r.latencies)) / elapsed.Seconds(),
		P50Millis:   millis(percentile(r.latencies, 50)),
		P90Millis:   millis(percentile(r.latencies, 90)),
		P99Millis:   millis(percentile(r.latencies, 99)),
		MaxMillis:   millis(percentile(r.latencies, 100)),
		Bytes:       r.bytes,
		Writes:      r.writes,
		Errors:      r.errors,
		FirstErrors: r.examples,
		Notes:       r.notes,
	}
}

// percentile returns the smallest value that at least p percent of the sorted values
// do not exceed; 0 if there are none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func countFailures(results []result) int {
	failed := 0
	for _, r := range results {
		for _, count := range r.Errors {
			failed += count
		}
	}
	return failed
}
