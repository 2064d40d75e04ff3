// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

// newsInterval is the shortest time between two log entries about changed policies.
const newsInterval = 10 * time.Second

// policyChanges counts changes of policies that are not logged yet. It belongs to the planner.
type policyChanges struct {
	added, changed, gone int
	// told is when changes were logged last.
	told time.Time
}

// logScanDone logs that all resources that can be listed are evaluated. rest says what could not be
// listed; it may be empty.
func (s *Scanner) logScanDone(ctx context.Context, rest string) {
	values := s.extent()
	message := "The first scan is complete"
	switch {
	case s.firstScanDone:
		message = "Scanned kinds that could not be listed before"
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

// logRescan logs that the periodic scan has queued every resource.
func (s *Scanner) logRescan(ctx context.Context) {
	low, high := s.queue.loads()
	klog.FromContext(ctx).Info("The periodic scan has queued every resource once", append(s.extent(),
		"waiting", low.length+high.length, "interval", s.config.Interval.String())...)
}

// logPolicyChanges logs changes of policies since the first scan, at most once per newsInterval.
func (s *Scanner) logPolicyChanges(ctx context.Context) {
	now, changes := s.config.Clock.Now(), s.policyChanges
	if !s.firstScanDone || changes.added+changes.changed+changes.gone == 0 || now.Before(changes.told.Add(newsInterval)) {
		return
	}
	klog.FromContext(ctx).Info("Policies have changed", append([]any{"new", changes.added, "changed", changes.changed, "gone", changes.gone}, s.extent()...)...)
	s.policyChanges = policyChanges{told: now}
}

// extent returns how much is evaluated, for the log. Any goroutine may call it.
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
