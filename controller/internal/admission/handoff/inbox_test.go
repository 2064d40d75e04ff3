// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// sink takes what an inbox hands on.
type sink struct {
	mu sync.Mutex
	// atOnce has all decided before the inbox knows.
	atOnce bool
	items  []policy.Admitted
	later  []func()
}

func (s *sink) take(items []policy.Admitted, decided func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, items...)
	if s.atOnce {
		decided()
		return
	}
	s.later = append(s.later, decided)
}

func (s *sink) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

// decide decides one of those that wait.
func (s *sink) decide() {
	s.mu.Lock()
	decided := s.later[0]
	s.later = s.later[1:]
	s.mu.Unlock()
	decided()
	decided() // Once too often does no harm.
}

// inbox runs one until what is returned, or the end of the test, ends it.
func (a *api) inbox(t *testing.T, to *sink, capacity int, flushed func(context.Context) error, c clock.WithTicker) func() {
	t.Helper()
	return a.run(t, InboxConfig{Client: a, Sink: to.take, Flushed: flushed, Clock: c}, capacity)
}

func (a *api) run(t *testing.T, config InboxConfig, capacity int) func() {
	t.Helper()
	i := newInbox(config, capacity)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- i.Run(ctx) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// write creates the report on one subject.
func (a *api) write(t *testing.T, items ...Item) {
	t.Helper()
	objects, _ := encode(items)
	for _, object := range objects {
		object.SetUID(types.UID("report-" + object.GetName()))
		testkit.Must(at(a, object.GetNamespace()).Create(t.Context(), object, metav1.CreateOptions{}))(t)
	}
}

// watched waits until both watches are there: a fake API has no versions to watch from.
func (a *api) watched(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the inbox watches", func() bool {
		n := 0
		for _, action := range a.Actions() {
			if action.GetVerb() == "watch" {
				n++
			}
		}
		return n >= 2
	})
}

// TestInbox: reports of before and new ones are handed on, and deleted once all is decided and
// written; after a crash before that they are handed on again.
func TestInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testInbox)
}

func testInbox(t *testing.T) {
	a, first, c := newAPI(), &sink{}, testingclock.NewFakeClock(start)
	a.write(t, item("a", "default", "x", fails("r")), item("b", "default", "x"))
	a.write(t, item("a", "", "y"))
	stop := a.inbox(t, first, maxHeld, nil, c)
	a.watched(t)
	a.write(t, item("a", "default", "z"))
	testkit.Eventually(t, "all is handed on", func() bool { return first.taken() == 4 })
	stop()
	if got := a.reports(t); len(got) != 3 {
		t.Errorf("undecided, there are %q", got)
	}

	var mu sync.Mutex
	away, flushes := true, 0
	flushed := func(context.Context) error {
		mu.Lock()
		defer mu.Unlock()
		flushes++
		if away {
			return errors.New("nothing can be written")
		}
		return nil
	}
	second := &sink{}
	a.ClearActions()
	a.inbox(t, second, maxHeld, flushed, c)
	testkit.Eventually(t, "all is handed on again", func() bool { return second.taken() == 4 })
	second.decide()
	second.decide()
	asked := func(n int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return flushes >= n
		}
	}
	testkit.Eventually(t, "the reports are asked for", asked(1))
	synctest.Wait()
	if got := a.reports(t); len(got) != 3 {
		t.Errorf("with results unwritten, there are %q", got)
	}
	mu.Lock()
	away = false
	mu.Unlock()
	c.Step(tick)
	testkit.Eventually(t, "what is decided is deleted", func() bool { return len(a.reports(t)) == 1 })
	second.decide()
	testkit.Eventually(t, "all is deleted", func() bool { return len(a.reports(t)) == 0 })
}

// TestInboxDeletesOnlyOurs: what carries our label and makes no sense goes; what does not carry it is not
// even looked at.
func TestInboxDeletesOnlyOurs(t *testing.T) { // It reads metrics that others count.
	a, s := newAPI(), &sink{atOnce: true}
	before := count(t, read.WithLabelValues(readMalformed))
	for _, name := range []string{"foreign", "malformed"} {
		objects, _ := encode([]Item{item("a", "default", name, fails("r"))})
		object := objects[0]
		object.SetName(name)
		object.SetUID(types.UID(name))
		object.SetAnnotations(nil)
		if name == "foreign" {
			object.SetLabels(map[string]string{managedByLabel: "kyverno"})
		}
		testkit.Must(at(a, "default").Create(t.Context(), object, metav1.CreateOptions{}))(t)
	}
	a.write(t, item("a", "default", "x"))
	a.inbox(t, s, maxHeld, nil, nil)
	testkit.Eventually(t, "ours are deleted", func() bool { return len(a.reports(t)) == 1 })
	if got := a.reports(t); got[0] != "malformed foreign" || s.taken() != 1 {
		t.Errorf("left is %q, handed on are %d", got, s.taken())
	}
	if got := count(t, read.WithLabelValues(readMalformed)) - before; got != 1 {
		t.Errorf("%v are counted", got)
	}
}

// TestInboxHoldsABoundedNumber, and continues when some are decided.
func TestInboxHoldsABoundedNumber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testBoundedNumber)
}

func testBoundedNumber(t *testing.T) {
	a, s := newAPI(), &sink{}
	for i := range 20 {
		a.write(t, item("a", "default", fmt.Sprint(i)))
	}
	a.inbox(t, s, 5, nil, testingclock.NewFakeClock(start))
	for i := range 20 {
		synctest.Wait()
		if got := s.taken(); got != min(i+5, 20) {
			t.Fatalf("%d are decided, %d are handed on", i, got)
		}
		s.decide()
	}
	testkit.Eventually(t, "all is deleted", func() bool { return len(a.reports(t)) == 0 })
}

// TestInboxGivesUp what nothing is decided about.
func TestInboxGivesUp(t *testing.T) { // It reads metrics that others count.
	synctest.Test(t, testInboxGivesUp)
}

func testInboxGivesUp(t *testing.T) {
	a, s, c := newAPI(), &sink{}, testingclock.NewFakeClock(start)
	before := count(t, read.WithLabelValues(readExpired))
	a.write(t, item("a", "default", "x"))
	a.inbox(t, s, maxHeld, nil, c)
	testkit.Eventually(t, "it is handed on", func() bool { return s.taken() == 1 && c.HasWaiters() })
	c.Step(holdLimit - tick)
	synctest.Wait()
	if got := a.reports(t); len(got) != 1 {
		t.Errorf("left is %q", got)
	}
	testkit.Eventually(t, "it is deleted", func() bool {
		c.Step(tick)
		return len(a.reports(t)) == 0
	})
	s.decide() // Too late, which does no harm.
	if got := count(t, read.WithLabelValues(readExpired)) - before; got != 1 {
		t.Errorf("%v are counted", got)
	}
}

// TestInboxSurvivesTrouble: an API that has no EphemeralReports yet, that can't delete, and whose
// watches end.
func TestInboxSurvivesTrouble(t *testing.T) {
	t.Parallel()
	a, s, c := newAPI(), &sink{atOnce: true}, testingclock.NewFakeClock(time.Now())
	a.write(t, item("a", "default", "x"))
	listed := make(chan struct{}, 2)
	a.set(func(action clienttesting.Action) error {
		if action.GetVerb() == "list" {
			select {
			case listed <- struct{}{}:
			default:
			}
			return apierrors.NewGenericServerResponse(404, "list", resourceOf(true).GroupResource(), "", "", 0, true)
		}
		return nil
	})
	a.inbox(t, s, maxHeld, nil, c)
	<-listed
	<-listed
	deleted := make(chan struct{}, 1)
	a.set(func(action clienttesting.Action) error {
		if action.GetVerb() == "delete" {
			select {
			case deleted <- struct{}{}:
			default:
			}
			return apierrors.NewInternalError(errors.New("no"))
		}
		return nil
	})
	stepUntil := func(what string, ask func() bool) {
		t.Helper()
		testkit.Eventually(t, what, func() bool {
			c.Step(time.Second)
			return ask()
		})
	}
	stepUntil("a deletion is tried", func() bool { return len(deleted) == 1 })
	a.set(nil)
	stepUntil("it is deleted", func() bool { return len(a.reports(t)) == 0 })
	if s.taken() != 1 {
		t.Errorf("it was handed on %d times", s.taken())
	}
}
