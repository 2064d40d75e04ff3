// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import "k8s.io/apimachinery/pkg/runtime/schema"

// WaitsUrgently reports whether a resource is in the queue before all that is not urgent, or was taken from there.
func (s *Scanner) WaitsUrgently(gvr schema.GroupVersionResource, namespace, name string) bool {
	k := s.inventory.all()[gvr]
	if k == nil {
		return false
	}
	k.mu.Lock()
	rs := k.objects[namespace][name]
	k.mu.Unlock()
	s.inventory.queue.mu.Lock()
	defer s.inventory.queue.mu.Unlock()
	return rs != nil && (rs.queued.lane == laneHigh || rs.queued.urgent)
}
