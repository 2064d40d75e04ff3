// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// List is a list of reports of the kind that T stands for.
type List[T any, P View[T]] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`

	// Items are the reports.
	Items []Object[T, P] `json:"items"`
}

// NewList returns an empty list that states its kind.
func NewList[T any, P View[T]]() *List[T, P] {
	l := &List[T, P]{}
	l.state()
	return l
}

// state sets the type that the list states to its kind.
func (l *List[T, P]) state() {
	kind := P(nil).ReportKind()
	kind.Kind += "List"
	l.SetGroupVersionKind(kind)
}

// DeepCopyObject implements runtime.Object. Bodies are shared.
func (l *List[T, P]) DeepCopyObject() runtime.Object {
	copied := &List[T, P]{TypeMeta: l.TypeMeta, ListMeta: *l.DeepCopy()}
	if l.Items != nil {
		copied.Items = make([]Object[T, P], len(l.Items))
	}
	for i := range l.Items {
		copied.Items[i] = Object[T, P]{l.Items[i].copied()}
	}
	return copied
}

// OpenAPIModelName is the name of the list's kind in OpenAPI documents.
func (l List[T, P]) OpenAPIModelName() string {
	return modelName(P(nil).ReportKind()) + "List"
}
