// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"context"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	kyvernov2 "github.com/kyverno/kyverno/api/kyverno/v2"
	"github.com/kyverno/kyverno/pkg/admissionpolicy"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	engineutils "github.com/kyverno/kyverno/pkg/engine/utils"
	corev1 "k8s.io/api/core/v1"
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
	// kind is the resource's, whatever kind the objects of a subresource have.
	kind schema.GroupVersionKind
	// new and old are the objects as the engine is to see them, nil where there is none.
	new, old *unstructured.Unstructured
	info     kyvernov2.RequestInfo
	// labels are the labels of the object's namespace; nil for a namespace.
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
	out := &policyContext{
		policy: rule.policy, document: document, new: base.Value(v.new), old: base.Value(v.old), info: v.info, labels: v.labels,
		operation: kyvernov1.AdmissionOperation(v.request.Operation), resource: v.request.Resource, kind: v.kind, subresource: v.request.SubResource,
	}
	if v.policy.writesSubject() {
		out.new, out.old = *out.new.DeepCopy(), *out.old.DeepCopy()
	}
	document.request.begin()
	return out
}

// matches asks the engine whether a rule is about the request, by its new object or, if there is none, by the old one.
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
