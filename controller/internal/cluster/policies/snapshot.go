// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

// Item is a policy at one time. It never changes.
type Item struct {
	Policy policy.Policy
	// Object is the object that was compiled, without managed fields, status and resourceVersion.
	Object *unstructured.Unstructured
}

// Reference returns the reference for Events about the policy.
func (i *Item) Reference() corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: i.Object.GetAPIVersion(), Kind: i.Object.GetKind(),
		Namespace: i.Object.GetNamespace(), Name: i.Object.GetName(), UID: i.Object.GetUID(),
	}
}

// Snapshot is all policies at one time. It never changes.
type Snapshot struct {
	// Items are sorted by identity. An item is the same pointer as in the previous snapshot if its object is
	// unchanged and its exceptions give the same results. Policies that are being deleted are left out.
	Items []*Item
	// Missing are the kinds of policies and exceptions whose objects are not known: they can't be listed, or
	// the API doesn't say whether it has the kind.
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
