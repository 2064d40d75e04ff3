// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
)

// DerivesAlike returns what says whether another report equals this one, as it is now, in all that labels,
// selectable fields and result rows are made of. It does so without decoding bodies.
func (o *Object) DerivesAlike() func(runtime.Object) bool {
	namespace, name, uid, created := o.Namespace, o.Name, o.UID, o.CreationTimestamp
	labels, content := maps.Clone(o.Labels), o.Content
	return func(obj runtime.Object) bool {
		other, ok := obj.(*Object)
		return ok && other.Namespace == namespace && other.Name == name && other.UID == uid &&
			other.CreationTimestamp.Equal(&created) && maps.Equal(other.Labels, labels) && content.Equal(other.Content)
	}
}
