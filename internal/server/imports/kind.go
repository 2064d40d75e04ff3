// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is an object of any kind. Its JSON is the whole object.
type Object interface {
	runtime.Object
	metav1.Object
}

// Kind is what there is to know of a kind to move its objects.
type Kind struct {
	// GroupVersionKind has the version in which objects are moved and stored.
	schema.GroupVersionKind

	// Resource is the plural name in URLs.
	Resource string
	// Versions are those that clients use.
	Versions   []string
	Namespaced bool
	// Decode decodes an object from JSON, of whatever version, with the kind's own version. It
	// also returns the fields that the kind doesn't have, which are left out. It doesn't validate
	// otherwise: the object was valid where it comes from.
	Decode func(data []byte) (object Object, unknown []string, err error)
}

// GroupResource is the name under which objects of the kind are stored.
func (k Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}
