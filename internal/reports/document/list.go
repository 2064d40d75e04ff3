// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// List is a list of objects of one kind.
type List struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	// Items are the objects.
	Items []Object `json:"items"`

	of *Kind
}

// NewList returns an empty list of a kind, which it states.
func NewList(kind *Kind) *List {
	l := &List{of: kind}
	l.state()
	return l
}

// state sets the type that the list states to its kind.
func (l *List) state() {
	l.SetGroupVersionKind(l.of.ListKind)
}

// DeepCopyObject implements runtime.Object. Bodies are shared.
func (l *List) DeepCopyObject() runtime.Object {
	copied := &List{TypeMeta: l.TypeMeta, ListMeta: *l.DeepCopy(), of: l.of}
	if l.Items != nil {
		copied.Items = make([]Object, len(l.Items))
	}
	for i := range l.Items {
		copied.Items[i] = l.Items[i].copied()
	}
	return copied
}
