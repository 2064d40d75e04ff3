// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// Reasons of Events on policies.
const (
	reasonNotEvaluated = "PolicyNotEvaluated"
	reasonNotListed    = "ResourcesNotListed"
	reasonDoubt        = "PolicyPartlyUnknown"
	reasonViolation    = "PolicyViolation"
	reasonTooSlow      = "PolicyTooSlow"
)

const (
	// maxEventMessage is the length that the API accepts, in bytes.
	maxEventMessage = 1000
	// maxEventPolicies bounds the policies that get an Event about the same problem.
	maxEventPolicies = 10
	// eventGather is the shortest time for which failures are counted, so that the first Event is not about
	// the first subject only.
	eventGather = 10 * time.Second
)

// event sends a warning about a policy.
func (e *evaluator) event(about *policyState, reason, format string, args ...any) {
	if e.config.Recorder == nil || !e.config.Shards.First() && reason != reasonViolation && reason != reasonTooSlow {
		return
	}
	message := fmt.Sprintf(format, args...)
	if len(message) > maxEventMessage {
		message = message[:maxEventMessage] + "…"
	}
	on := about.item.Reference()
	e.config.Recorder.Event(&on, corev1.EventTypeWarning, reason, message)
}

// eventToPoliciesOf sends an Event to some of the policies that match a kind.
func (e *evaluator) eventToPoliciesOf(gvr schema.GroupVersionResource, message string) {
	told := 0
	for _, state := range sorted(e.policies) {
		if state.current == nil || told >= maxEventPolicies {
			continue
		}
		if slices.ContainsFunc(state.current.kinds, func(r served.Resource) bool { return r.GroupVersionResource == gvr }) {
			e.event(state, reasonNotListed, "%s", message)
			told++
		}
	}
}

// sendViolations sends an Event to each policy that subjects have failed since the last one. Events are
// spread evenly over the interval, at most [Config.EventsPerPolicy] of them.
func (e *evaluator) sendViolations() {
	if e.config.EventsPerPolicy == 0 || e.config.Recorder == nil {
		return
	}
	pause := e.config.eventInterval() / time.Duration(e.config.EventsPerPolicy)
	now := e.config.Clock.Now()
	for _, state := range e.policies {
		if count, example, ok := state.failures.take(now, pause); ok {
			e.event(state, reasonViolation, "%d evaluations found resources that break the policy or can't be checked, such as %s %s; the policy reports have all",
				count, example.Kind, subjectName(example))
		}
	}
}

func subjectName(subject policy.Reference) string {
	if subject.Namespace == "" {
		return subject.Name
	}
	return subject.Namespace + "/" + subject.Name
}

// failures counts the subjects that failed a policy since its last Event.
type failures struct {
	mu      sync.Mutex
	count   int
	example policy.Reference
	// first is when count became 1, last when the last Event was sent.
	first, last time.Time
}

func (f *failures) add(subject policy.Reference, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 {
		f.example, f.first = subject, now
	}
	f.count++
}

// take returns what was counted and starts from 0, if it is time for an Event.
func (f *failures) take(now time.Time, pause time.Duration) (count int, example policy.Reference, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count == 0 || now.Sub(f.first) < eventGather || now.Sub(f.last) < pause {
		return 0, policy.Reference{}, false
	}
	count, f.count, f.last = f.count, 0, now
	return count, f.example, true
}
