// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"context"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	kyvernov2 "github.com/kyverno/kyverno/api/kyverno/v2"
	"github.com/kyverno/kyverno/pkg/admissionpolicy"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	enginecontext "github.com/kyverno/kyverno/pkg/engine/context"
	engineutils "github.com/kyverno/kyverno/pkg/engine/utils"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
)

// requestView is an admission request to a classic policy. It does not change.
type requestView struct {
	policy  *classicPolicy
	request *policy.Request
	// kind is that of the resource, whatever kind the objects of a subresource have.
	kind schema.GroupVersionKind
	// new and old are the objects as the engine is to see them, nil where there is none.
	new, old *unstructured.Unstructured
	info     kyvernov2.RequestInfo
	// labels are those of the namespace of the object, which a namespace has not.
	labels map[string]string
}

// newRequestView returns a view, and what is wrong with the policy or the request, if something is.
func (p *classicPolicy) newRequestView(request *policy.Request, kind schema.GroupVersionKind) (*requestView, error) {
	v := &requestView{
		policy: p, request: request, kind: kind,
		new: base.AsRequested(request, request.New), old: base.AsRequested(request, request.Old),
	}
	if request.Kind.Kind != base.NamespaceKind {
		v.labels = request.NamespaceLabels
	}
	if !p.Evaluable() {
		// Without the user's names, whom a rule is about makes no difference.
		return v, p.Facts.Problem
	}
	roles, clusterRoles, err := p.rolesOf(request)
	if err != nil {
		return v, err
	}
	v.info = kyvernov2.RequestInfo{
		Roles: roles, ClusterRoles: clusterRoles, AdmissionUserInfo: request.UserInfo,
		DryRun: request.DryRun != nil && *request.DryRun,
	}
	return v, nil
}

// subject returns the object that results are about.
func (v *requestView) subject() *unstructured.Unstructured {
	if v.new != nil {
		return v.new
	}
	return v.old
}

func (v *requestView) document() *document {
	c := v.policy.compiler
	return &document{query: c.jmespath, settings: c.settings, request: &requestDocument{view: v}}
}

func (v *requestView) namespace() *corev1.Namespace { return base.RequestNamespace(v.request) }

func (v *requestView) context(rule *rule, document *document) engineapi.PolicyContext {
	out := &requestContext{
		view: v, policy: rule.policy, document: document,
		new: base.Value(v.new), old: base.Value(v.old), operation: kyvernov1.AdmissionOperation(v.request.Operation),
	}
	if v.policy.writesSubject() {
		out.new, out.old = *out.new.DeepCopy(), *out.old.DeepCopy()
	}
	document.request.begin()
	return out
}

// matches asks the engine whether a rule is about the request, by its new object or, if there is
// none, by the old one.
func (v *requestView) matches(rule *rule) bool {
	matched := true
	err := base.Protect(func() error {
		matched = engineutils.MatchesResourceDescription(
			*v.subject(), rule.Rule, v.info, v.labels, v.policy.Facts.Identity.Namespace, v.kind, v.request.SubResource,
			kyvernov1.AdmissionOperation(v.request.Operation),
		) == nil
		return nil
	})
	return matched || err != nil
}

// compared is nil: of an update, the engine compares the old object, too.
func (v *requestView) compared() map[string]any { return nil }

func (v *requestView) evaluateCEL(ctx context.Context, rule *celRule) (policy.Result, error) {
	var object, old runtime.Object
	if v.new != nil {
		object = ofKind(v.new, v.kind)
	}
	if v.old != nil {
		old = ofKind(v.old, v.kind)
	}
	namespace, name := v.subject().GetNamespace(), v.subject().GetName()
	if v.kind == corev1.SchemeGroupVersion.WithKind(base.NamespaceKind) {
		namespace = ""
	}
	user := admissionpolicy.NewUser(v.request.UserInfo)
	// Kyverno tells neither the subresource nor whether it is a dry run.
	attributes := admission.NewAttributesRecord(
		object, old, v.kind, namespace, name, schema.GroupVersionResource(v.request.Resource), "",
		admission.Operation(v.request.Operation), nil, false, &user,
	)
	return rule.evaluateFor(ctx, attributes, policy.NamespaceNamed(namespace, v.request.NamespaceObject, v.labels))
}

// ofKind returns an object with another kind, without a change of the one that it is given.
func ofKind(object *unstructured.Unstructured, kind schema.GroupVersionKind) *unstructured.Unstructured {
	if object.GroupVersionKind() == kind {
		return object
	}
	out := object.DeepCopy()
	out.SetGroupVersionKind(kind)
	return out
}

// requestContext is the engine's view of a request, for one rule. The engine replaces the objects
// for a while, to see what the rule says about the old one.
type requestContext struct {
	view      *requestView
	policy    kyvernov1.PolicyInterface
	document  *document
	new, old  unstructured.Unstructured
	operation kyvernov1.AdmissionOperation
	element   unstructured.Unstructured
}

// Policy is that of the engine's policy context, as are the next ones.
func (c *requestContext) Policy() kyvernov1.PolicyInterface       { return c.policy }
func (c *requestContext) NewResource() unstructured.Unstructured  { return c.new }
func (c *requestContext) OldResource() unstructured.Unstructured  { return c.old }
func (c *requestContext) AdmissionInfo() kyvernov2.RequestInfo    { return c.view.info }
func (c *requestContext) Operation() kyvernov1.AdmissionOperation { return c.operation }
func (c *requestContext) NamespaceLabels() map[string]string      { return c.view.labels }
func (c *requestContext) RequestResource() metav1.GroupVersionResource {
	return c.view.request.Resource
}
func (c *requestContext) AdmissionOperation() bool                     { return true }
func (c *requestContext) Element() unstructured.Unstructured           { return c.element }
func (c *requestContext) SetElement(element unstructured.Unstructured) { c.element = element }
func (c *requestContext) JSONContext() enginecontext.Interface         { return c.document }
func (c *requestContext) ResourceKind() (schema.GroupVersionKind, string) {
	return c.view.kind, c.view.request.SubResource
}

// Copy is that of the engine's policy context.
func (c *requestContext) Copy() engineapi.PolicyContext {
	out := *c
	return &out
}

// SetResources is that of the engine's policy context.
func (c *requestContext) SetResources(old, object unstructured.Unstructured) error {
	c.new, c.old = object, old
	return c.document.request.replace(c.document.Interface, object.Object, old.Object)
}

// SetOperation is that of the engine's policy context.
func (c *requestContext) SetOperation(operation kyvernov1.AdmissionOperation) error {
	c.operation = operation
	return c.document.request.setOperation(c.document.Interface, operation)
}
