// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// reader gets reports that were acknowledged, again and again: each must be there.
type reader struct {
	mu       sync.Mutex // guards the fields below
	reads    int
	slowest  time.Duration
	problems []string
}

func startReader(t *testing.T, l *ledger) *reader {
	t.Helper()
	r := &reader{}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for ctx.Err() == nil {
				r.read(ctx, l)
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		group.Wait()
	})
	return r
}

// read gets one report, of those that are not deleted later.
func (r *reader) read(ctx context.Context, l *ledger) {
	name, want := l.youngest()
	if name == "" {
		return
	}
	start := time.Now()
	object, err := l.reports.Get(ctx, name, metav1.GetOptions{})
	took := time.Since(start)
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reads++
	r.slowest = max(r.slowest, took)
	switch {
	case apierrors.IsNotFound(err):
		r.problems = append(r.problems, fmt.Sprintf("%s %s was acknowledged, and a get says: %v", time.Now().Format("15:04:05.000"), name, err))
	case err != nil && !retriable(err):
		r.problems = append(r.problems, fmt.Sprintf("get %s: %v", name, err))
	case err == nil && counterOf(object) < want:
		r.problems = append(r.problems, fmt.Sprintf("%s %s was acknowledged with counter %d, and a get shows %d",
			time.Now().Format("15:04:05.000"), name, want, counterOf(object)))
	}
}

func (r *reader) check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	t.Logf("%d reads, the slowest took %s", r.reads, r.slowest)
	for _, problem := range r.problems[:min(len(r.problems), 10)] {
		t.Error(problem)
	}
	r.slowest = 0
}

// youngest returns one of the reports that were written last, and its counter. It
// leaves out those that writers delete: see ledger.write.
func (l *ledger) youngest() (name string, counter int) {
	const deletedRemainder = 4
	l.mu.Lock()
	defer l.mu.Unlock()
	best := -1
	for candidate, value := range l.counters {
		_, number, _ := strings.Cut(candidate, "-")
		n, err := strconv.Atoi(number)
		if err == nil && n%10 != deletedRemainder && n > best {
			name, counter, best = candidate, value, n
		}
	}
	return name, counter
}
