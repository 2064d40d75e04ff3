// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/controller/internal/policies"
	"github.com/docket-project/docket/controller/internal/policy"
)

// awayPolicy is one whose engine is away while err is set.
type awayPolicy struct {
	policy.Apart

	err *error
}

func (p awayPolicy) Away() error { return *p.err }

// TestEngineAwayEvents: a few policies tell of an engine that is away for longer than a restart takes, once.
func TestEngineAwayEvents(t *testing.T) {
	t.Parallel()
	now, recorder := clocktesting.NewFakeClock(time.Unix(1_000_000, 0)), record.NewFakeRecorder(100)
	var away error
	s := &Scanner{config: Config{Clock: now, Recorder: recorder}, policies: map[policy.Identity]*policyState{}}
	for i := range 3 * maxEventPolicies {
		id := policy.Identity{Kind: policy.ClusterPolicy, Name: fmt.Sprint("p", i)}
		s.policies[id] = &policyState{id: id, item: &policies.Item{Policy: awayPolicy{err: &away}, Object: &unstructured.Unstructured{}}}
	}
	step := func(length time.Duration, want int) {
		t.Helper()
		now.Step(length)
		s.tendAway(t.Context())
		if n := len(recorder.Events); n != want {
			t.Errorf("%d Events, want %d", n, want)
		}
		for range want {
			if text := <-recorder.Events; !strings.Contains(text, reasonEngineAway) || !strings.Contains(text, "its results stay as they are: the engine e is away: broken") {
				t.Error(text)
			}
		}
	}
	step(time.Hour, 0)
	away = &policy.AwayError{Engine: "e", Cause: errors.New("broken")}
	step(time.Second, 0)
	step(awayPatience-1, 0)
	step(1, maxEventPolicies)
	step(time.Hour, 0)
	away = nil
	step(time.Second, 0)
	away = &policy.AwayError{Engine: "e", Cause: errors.New("broken")}
	step(time.Second, 0)
	step(awayPatience, maxEventPolicies)
}
