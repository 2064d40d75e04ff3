// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestPolicyNoise: what says nothing to a policy is no change of it.
func TestPolicyNoise(t *testing.T) {
	t.Parallel()
	changes := 0
	s := newKinds(false, func() { changes++ })[0]
	object := func(rule, status, version string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"rule": rule}, "status": map[string]any{"ready": status}}}
		o.SetName("p")
		o.SetResourceVersion(version)
		o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: version}})
		return o
	}
	for i, step := range []struct {
		object *unstructured.Unstructured
		want   int
	}{{object("a", "no", "1"), 1}, {object("a", "yes", "2"), 1}, {object("b", "yes", "3"), 2}} {
		if err := s.Update(step.object); err != nil || changes != step.want {
			t.Errorf("step %d: %d changes, %v", i, changes, err)
		}
	}
	kept := s.list()[0]
	if err := s.Replace([]any{object("b", "again", "4")}, ""); err != nil || changes != 2 || s.list()[0] != kept {
		t.Errorf("list of the same: %d changes, %v", changes, err)
	}
	if err := s.Replace(nil, ""); err != nil || changes != 3 || len(s.list()) != 0 {
		t.Errorf("empty list: %d changes, %v", changes, err)
	}
}
