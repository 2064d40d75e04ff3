// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"errors"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	kyvernov2 "github.com/kyverno/kyverno/api/kyverno/v2"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	enginecontext "github.com/kyverno/kyverno/pkg/engine/context"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// policyContext is the engine's view of an evaluation, for one rule. The user and the resource are empty for a scan,
// in which nobody creates the subject.
type policyContext struct {
	policy      kyvernov1.PolicyInterface
	document    *document
	new, old    unstructured.Unstructured
	operation   kyvernov1.AdmissionOperation
	info        kyvernov2.RequestInfo
	labels      map[string]string
	resource    metav1.GroupVersionResource
	kind        schema.GroupVersionKind
	subresource string
	element     unstructured.Unstructured
}

func (c *policyContext) Policy() kyvernov1.PolicyInterface            { return c.policy }
func (c *policyContext) NewResource() unstructured.Unstructured       { return c.new }
func (c *policyContext) OldResource() unstructured.Unstructured       { return c.old }
func (c *policyContext) AdmissionInfo() kyvernov2.RequestInfo         { return c.info }
func (c *policyContext) Operation() kyvernov1.AdmissionOperation      { return c.operation }
func (c *policyContext) NamespaceLabels() map[string]string           { return c.labels }
func (c *policyContext) RequestResource() metav1.GroupVersionResource { return c.resource }
func (c *policyContext) ResourceKind() (schema.GroupVersionKind, string) {
	return c.kind, c.subresource
}
func (c *policyContext) AdmissionOperation() bool                     { return c.document.request != nil }
func (c *policyContext) SetElement(element unstructured.Unstructured) { c.element = element }
func (c *policyContext) JSONContext() enginecontext.Interface         { return c.document }

// Element is what the engine compares with patterns, if it has content: it asks for it right before.
func (c *policyContext) Element() unstructured.Unstructured {
	switch {
	case c.element.Object != nil:
		c.document.compare(c.element.Object)
	case c.operation != kyvernov1.Delete:
		c.document.compare(c.new.Object)
	}
	return c.element
}

func (c *policyContext) Copy() engineapi.PolicyContext {
	out := *c
	return &out
}

var errNoUpdate = errors.New("the subject of an evaluation can't be replaced")

// SetResources replaces the objects while the engine finds out what the rule says about the old one. It does so for
// updates only.
func (c *policyContext) SetResources(old, object unstructured.Unstructured) error {
	if c.document.request == nil {
		return errNoUpdate
	}
	c.new, c.old = object, old
	return c.document.request.replace(c.document.Interface, object.Object, old.Object)
}

// SetOperation goes with [policyContext.SetResources].
func (c *policyContext) SetOperation(operation kyvernov1.AdmissionOperation) error {
	if c.document.request == nil {
		return errNoUpdate
	}
	c.operation = operation
	return c.document.request.setOperation(c.document.Interface, operation)
}
