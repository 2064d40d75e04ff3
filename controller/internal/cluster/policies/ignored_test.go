// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// ignoring is a policy that ignores exceptions.
type ignoring struct {
	policy.Policy
	ignored []policy.IgnoredException
}

func (i ignoring) IgnoredExceptions() []policy.IgnoredException { return i.ignored }

// TestIgnoredExceptionsSaySo by an Event each, once, and by a metric.
func TestIgnoredExceptionsSaySo(t *testing.T) {
	t.Parallel()
	RegisterMetrics()
	of := func(name string) policy.IgnoredException {
		return policy.IgnoredException{
			Exception: corev1.ObjectReference{Kind: policy.Exception, Namespace: "team", Name: name},
			Reason:    policy.ExceptionNamespace, Message: "name it in --exception-namespaces",
		}
	}
	snapshot := func(names ...string) *Snapshot {
		one, two := ignoring{}, ignoring{}
		for _, name := range names {
			one.ignored, two.ignored = append(one.ignored, of(name)), append(two.ignored, of(name))
		}
		return &Snapshot{Items: []*Item{{Policy: one}, {Policy: two}}}
	}
	set := &Set{}
	set.current.Store(snapshot("a"))
	recorder := record.NewFakeRecorder(10)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- set.ReportIgnored(ctx, recorder) }()
	next := func() string {
		event, _ := testkit.Receive(t, "an Event", recorder.Events)
		return event
	}
	if event := next(); !strings.HasPrefix(event, "Warning ExceptionIgnored name it") {
		t.Error(event)
	}
	set.publish(snapshot("a", "b"))
	next()
	families := testkit.Must(legacyregistry.DefaultGatherer.Gather())(t)
	found := map[string]bool{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "docket_controller_ignored_exceptions" {
				found[metric.GetLabel()[0].GetValue()] = true
			}
		}
	}
	for _, reason := range policy.ExceptionReasons() {
		if !found[reason] {
			t.Errorf("there is no metric with the reason %s", reason)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(recorder.Events) > 0 {
		t.Errorf("told again: %s", <-recorder.Events)
	}
}
