// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

// Item is a policy at a time. It never changes.
type Item struct {
	Policy policy.Policy
	// Object is what the policy was compiled of, without managed fields, status and resource
	// version.
	Object *unstructured.Unstructured
}

// Reference is what an Event on the policy refers to.
func (i *Item) Reference() corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: i.Object.GetAPIVersion(), Kind: i.Object.GetKind(),
		Namespace: i.Object.GetNamespace(), Name: i.Object.GetName(), UID: i.Object.GetUID(),
	}
}

// Snapshot is all policies at a time. It never changes.
type Snapshot struct {
	// Items are sorted by the text of their identity. One whose object is the same as in the
	// snapshot before, and whose exceptions give the same results, is the same one. Policies that
	// are being deleted are not among them.
	Items []*Item
	// Missing are the kinds of policies and exceptions whose objects are not known, because they
	// can't be listed or because the API doesn't say whether it has the kind.
	Missing map[schema.GroupKind]bool
}

// Find returns the policy with a name; nil if there is none.
func (s *Snapshot) Find(id policy.Identity) *Item {
	for _, item := range s.Items {
		if item.Policy.Identity() == id {
			return item
		}
	}
	return nil
}
