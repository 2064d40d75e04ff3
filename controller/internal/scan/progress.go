// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// newsInterval is how often the log tells at most of policies that have changed.
const newsInterval = 10 * time.Second

// policyChanges counts policies that have changed since the log told of some. It belongs to the planner.
type policyChanges struct {
	added, changed, gone int
	// told is when the log told of some.
	told time.Time
}

// logScanDone tells that everything that can be listed was evaluated, and what could not be listed,
// the empty text for nothing.
func (s *Scanner) logScanDone(ctx context.Context, rest string) {
	values := s.extent()
	message := "The first scan is complete"
	switch {
	case s.firstScanDone:
		message = "Scanned more of what could not be listed before"
	case len(s.policies) == 0:
		message = "The first scan is complete: there are no policies, so nothing was evaluated"
	}
	if !s.firstScanDone {
		values = append(values, "took", s.config.Clock.Since(s.began).Round(time.Millisecond).String())
	}
	if rest != "" {
		values = append(values, "couldNotBeListed", rest)
	}
	klog.FromContext(ctx).Info(message, values...)
	s.policyChanges = policyChanges{told: s.config.Clock.Now()}
}

// logRescan tells that the periodic scan has come to every resource.
func (s *Scanner) logRescan(ctx context.Context) {
	low, high, _ := s.queue.lengths()
	klog.FromContext(ctx).Info("The periodic scan has come to every resource once", append(s.extent(),
		"waiting", low+high, "interval", s.config.Interval.String())...)
}

// logPolicyChanges tells of policies that have changed since the first scan, now and then.
func (s *Scanner) logPolicyChanges(ctx context.Context) {
	now, changes := s.config.Clock.Now(), s.policyChanges
	if !s.firstScanDone || changes.added+changes.changed+changes.gone == 0 || now.Before(changes.told.Add(newsInterval)) {
		return
	}
	klog.FromContext(ctx).Info("Policies have changed", append([]any{"new", changes.added, "changed", changes.changed, "gone", changes.gone}, s.extent()...)...)
	s.policyChanges = policyChanges{told: now}
}

// extent is how much is evaluated. Anybody may call it.
func (s *Scanner) extent() []any {
	s.mu.RLock()
	policies := len(s.policies)
	s.mu.RUnlock()
	kinds, resources := 0, 0
	for _, k := range s.allKinds() {
		if k.hasPolicies() {
			kinds++
			resources += k.size()
		}
	}
	return []any{"policies", policies, "kinds", kinds, "resources", resources}
}
