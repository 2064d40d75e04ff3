// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultmetrics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// counter answers with these counts.
type counter struct {
	engine.Questions

	counts []engine.Count
	more   bool
	err    atomic.Pointer[error]
	asked  atomic.Int64
}

// Count implements engine.Questions.
func (c *counter) Count(_ context.Context, q engine.CountQuery) (engine.Counts, error) {
	c.asked.Add(1)
	if err := c.err.Load(); err != nil {
		return engine.Counts{}, *err
	}
	if !q.Counted() {
		return engine.Counts{}, errors.New("the counters don't know that")
	}
	return engine.Counts{Counts: c.counts, More: c.more}, nil
}

// scraped returns the series as Prometheus gets them.
func scraped(t *testing.T) map[string]float64 {
	t.Helper()
	families := testkit.Must(legacyregistry.DefaultGatherer.Gather())(t)
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "docket_policy_results" {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				if label.GetValue() != "" {
					labels = append(labels, label.GetName()+"="+label.GetValue())
				}
			}
			found[strings.Join(labels, ",")] = metric.GetGauge().GetValue()
		}
	}
	return found
}

func run(t *testing.T, r *Reader) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if got := scraped(t); len(got) > 0 {
			t.Errorf("after its end it still shows %v", got)
		}
	})
}

func TestSeries(t *testing.T) {
	byBoth := []engine.Count{
		{Values: []string{"shop", "fail"}, Results: 9}, {Values: []string{"bank", "pass"}, Results: 5},
		{Values: []string{"a", "fail"}, Results: 3}, {Values: []string{"b", "fail"}, Results: 2}, {Values: []string{"c", "pass"}, Results: 1},
	}
	byNamespace := []engine.Count{
		{Values: []string{"shop"}, Results: 9}, {Values: []string{"bank"}, Results: 5}, {Values: []string{"a"}, Results: 3}, {Values: []string{"b"}, Results: 2},
	}
	for name, test := range map[string]struct {
		counts []engine.Count
		labels []string
		want   map[string]float64
	}{
		"others have a result": {byBoth, []string{"report_namespace", "result"}, map[string]float64{
			"report_namespace=shop,result=fail": 9, "report_namespace=a,result=fail": 3,
			"report_namespace=(others),result=fail": 2, "report_namespace=(others),result=pass": 6,
		}},
		"result was not chosen": {byNamespace, []string{"report_namespace"}, map[string]float64{
			"report_namespace=shop": 9, "report_namespace=bank": 5, "report_namespace=(others)": 5,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, New(Options{Kinds: noKinds, Questions: &counter{counts: test.counts}, Labels: test.labels, Series: 2}))
			testkit.Succeeds(t, "the metric", func() error {
				if got := scraped(t); !maps.Equal(got, test.want) {
					return fmt.Errorf("got %v, want %v", got, test.want)
				}
				return nil
			})
		})
	}
}

// TestUrgentSeries: where there are too many, the worst are shown, and not the most.
func TestUrgentSeries(t *testing.T) {
	c := &counter{counts: []engine.Count{
		{Values: []string{"pass", "critical"}, Results: 900}, {Values: []string{"fail", "low"}, Results: 50}, {Values: []string{"warn", "high"}, Results: 40},
		{Values: []string{"error", ""}, Results: 30}, {Values: []string{"fail", "critical"}, Results: 1},
	}}
	run(t, New(Options{Kinds: noKinds, Questions: c, Labels: []string{"result", "severity"}, Series: 3}))
	want := map[string]float64{
		"result=fail,severity=critical": 1, "result=fail,severity=low": 50, "result=error": 30,
		"result=pass,severity=(others)": 900, "result=warn,severity=(others)": 40,
	}
	testkit.Succeeds(t, "the metric", func() error {
		if got := scraped(t); !maps.Equal(got, want) {
			return fmt.Errorf("got %v, want %v", got, want)
		}
		return nil
	})
}

// TestDatabaseAway: the last numbers are shown for a while, and then none.
func TestDatabaseAway(t *testing.T) {
	c := &counter{counts: []engine.Count{{Results: 7}}}
	clock := clocktesting.NewFakeClock(time.Now())
	run(t, New(Options{Kinds: noKinds, Questions: c, Series: 10, Clock: clock}))
	await := func(n int64) {
		t.Helper()
		testkit.Succeeds(t, "the metric", func() error {
			if got := c.asked.Load(); got < n || !clock.HasWaiters() {
				return fmt.Errorf("asked %d times, want %d", got, n)
			}
			return nil
		})
	}
	await(1)
	away := engine.ErrUnavailable
	c.err.Store(&away)
	for i := range int64(patience - 1) {
		clock.Step(interval)
		await(i + 2)
	}
	if got := scraped(t); !maps.Equal(got, map[string]float64{"": 7}) {
		t.Errorf("after %d failures it shows %v", patience-1, got)
	}
	clock.Step(interval)
	testkit.Succeeds(t, "the metric", func() error {
		if got := scraped(t); len(got) > 0 {
			return fmt.Errorf("after %d failures it shows %v", patience, got)
		}
		return nil
	})
	c.err.Store(nil)
	clock.Step(interval)
	testkit.Succeeds(t, "the metric", func() error {
		if got := scraped(t); !maps.Equal(got, map[string]float64{"": 7}) {
			return fmt.Errorf("the database is back, and it shows %v", got)
		}
		return nil
	})
}

// TestTooManyCounters: a sum of some of them would be a wrong number.
func TestTooManyCounters(t *testing.T) {
	c := &counter{counts: []engine.Count{{Results: 7}}, more: true}
	if all, err := New(Options{Kinds: noKinds, Questions: c, Series: 10}).read(t.Context()); err == nil {
		t.Errorf("got %v", all)
	}
}

func TestValidate(t *testing.T) {
	if err := Validate(Dimensions()); err != nil {
		t.Error(err)
	}
	for _, labels := range [][]string{{"colour"}, {"policy", "policy"}} {
		if err := Validate(labels); err == nil || !strings.Contains(err.Error(), labels[0]) {
			t.Errorf("%v: got the error %v", labels, err)
		}
	}
	for _, d := range dimensions() {
		if !d.field.Counted() {
			t.Errorf("%s is not counted", d.label)
		}
	}
}

func noKinds() []engine.ReportKind { return nil }
