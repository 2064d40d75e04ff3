// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DerivesAlike returns what says whether another object equals this one, as it is now, in all that labels,
// selectable fields and result rows are made of. It does so without decoding bodies. Annotations and owners are for
// mappings, which reports don't have.
func (o *Object) DerivesAlike() func(runtime.Object) bool {
	namespace, name, uid, created := o.Namespace, o.Name, o.UID, o.CreationTimestamp
	labels, content := maps.Clone(o.Labels), o.Content
	annotations, owners := maps.Clone(o.Annotations), slices.Clone(o.OwnerReferences)
	isReport := o.Of.NewView != nil
	return func(obj runtime.Object) bool {
		other, ok := obj.(*Object)
		return ok && other.Namespace == namespace && other.Name == name && other.UID == uid &&
			other.CreationTimestamp.Equal(&created) && maps.Equal(other.Labels, labels) && content.Equal(other.Content) &&
			(isReport || maps.Equal(other.Annotations, annotations) && slices.EqualFunc(other.OwnerReferences, owners, sameOwner))
	}
}

func sameOwner(a, b metav1.OwnerReference) bool {
	return a.APIVersion == b.APIVersion && a.Kind == b.Kind && a.Name == b.Name && a.UID == b.UID
}
