// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// lines are what a log has.
type lines struct {
	mu  sync.Mutex
	all []string
}

// into returns a context whose logger writes to the lines.
func (l *lines) into(ctx context.Context) context.Context {
	return klog.NewContext(ctx, funcr.New(func(_, line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, strings.TrimPrefix(line, `"level"=0 `))
	}, funcr.Options{}))
}

func (l *lines) taken() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.all
	l.all = nil
	return taken
}

// scanTwo finds two policies with a result each.
func (w *world) scanTwo() {
	for _, name := range []string{"a", "b"} {
		w.layout.Present(clusterPolicy(name), presentation())
		w.layout.Set(clusterPolicy(name), pod("default", name), []policy.Result{fail("r", "m")})
	}
	w.prune()
}

// TestJournalOfRuns: the log has the reports that existed, the changes of the first scan, and, before it
// happens, that all reports are deleted, and why.
func TestJournalOfRuns(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	first := s.world(t, Options{Split: true})
	got := first.logged(t, first.scanTwo)
	want := []string{
		`"msg"="Read the reports that exist" "reports"=0 "results"=0`,
		`"msg"="The reports are as the first scan found them" "created"=2 "updated"=0 "deleted"=0 "reports"=2 "results"=2`,
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "a first start (-want +got)")
	second := s.world(t, Options{Split: true})
	got = second.logged(t, second.prune)
	want = []string{
		`"msg"="Read the reports that exist" "reports"=2 "results"=2`,
		`"msg"="All reports that exist are about to be deleted" "error"="there is nothing to report" "reports"=2 "why"="no policy for them any more: 2"`,
		`"msg"="The reports are as the first scan found them" "created"=0 "updated"=0 "deleted"=2 "why"="no policy for them any more: 2" "reports"=0 "results"=0`,
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "a start without policies (-want +got)")
}

// logged returns what a writer logs that loads, runs, and gets the results of a scan.
func (w *world) logged(t *testing.T, scan func()) []string {
	t.Helper()
	log := &lines{}
	ctx, cancel := context.WithCancel(log.into(t.Context()))
	defer cancel()
	testkit.NoError(t, w.writer.Load(ctx))
	ended := make(chan error, 1)
	go func() { ended <- w.writer.Run(ctx) }()
	scan()
	testkit.Eventually(t, "the log tells of the first scan", func() bool {
		w.writer.plan.mu.Lock()
		defer w.writer.plan.mu.Unlock()
		return w.writer.journal.scanned
	})
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return slices.DeleteFunc(log.taken(), func(line string) bool { return !strings.Contains(line, "eport") || strings.Contains(line, "reflector") })
}

// TestJournalCauses: a report goes because of its policy, or because nothing is left to say.
func TestJournalCauses(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	w := s.world(t, Options{Split: true})
	w.load(t)
	w.scanTwo()
	w.flush(t)
	log := &lines{}
	w.layout.Set(clusterPolicy("a"), pod("default", "a"), nil)
	w.layout.RemovePolicy(clusterPolicy("b"))
	if err := w.writer.Flush(log.into(t.Context())); err != nil {
		t.Fatal(err)
	}
	const why = `"why"="no policy for them any more: 1; no results left, resources are gone or no longer match: 1"`
	want := []string{
		`"msg"="All reports that exist are about to be deleted" "error"="there is nothing to report" "reports"=2 ` + why,
		`"msg"="Wrote reports" "created"=0 "updated"=0 "deleted"=2 ` + why + ` "reports"=0 "results"=0`,
	}
	testkit.NoDiff(t, cmp.Diff(want, log.taken()), "-want +got")
	other := s.world(t, Options{})
	w.scanTwo()
	w.flush(t)
	other.load(t)
	other.scanTwo()
	testkit.NoError(t, other.writer.Flush(log.into(t.Context())))
	want = []string{`"msg"="Wrote reports" "created"=1 "updated"=0 "deleted"=2 "why"="of another layout or API group: 2" "reports"=1 "results"=2`}
	testkit.NoDiff(t, cmp.Diff(want, log.taken()), "the other layout (-want +got)")
}

// TestJournalIsShort: however much is written, the log says so once a minute.
func TestJournalIsShort(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	w := s.world(t, Options{Split: true})
	clock := clocktesting.NewFakeClock(start)
	w.writer.plan.clock = clock
	log := &lines{}
	ctx := log.into(t.Context())
	tell := func() {
		w.writer.plan.mu.Lock()
		defer w.writer.plan.mu.Unlock()
		w.writer.journal.log(ctx, clock.Now())
	}
	w.scanTwo()
	w.flush(t)
	tell()
	for range 300 {
		clock.Step(journalInterval / 100)
		w.writer.plan.mu.Lock()
		w.writer.journal.count(opUpdate, "")
		w.writer.plan.mu.Unlock()
		tell()
	}
	got := log.taken()
	if len(got) != 4 || !strings.Contains(got[3], `"Wrote reports" "created"=0 "updated"=100`) {
		t.Errorf("300 writes in 3 minutes: %q", got)
	}
}
