// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Defaults of webhooks, as in Kubernetes.
const (
	webhookTimeout int32 = 10
	webhookPort    int32 = 443
)

// The defaults here aren't cosmetic: admission reads an empty selector as one that
// matches everything, and a missing one as one that matches nothing.

func prepareValidatingWebhooks(configuration, _ *admissionregistrationv1.ValidatingWebhookConfiguration) {
	for i := range configuration.Webhooks {
		hook := &configuration.Webhooks[i]
		prepareWebhook(&hook.FailurePolicy, &hook.TimeoutSeconds, &hook.ClientConfig, hook.Rules)
		prepareMatch(&hook.MatchPolicy, &hook.NamespaceSelector, &hook.ObjectSelector)
	}
}

func prepareMutatingWebhooks(configuration, _ *admissionregistrationv1.MutatingWebhookConfiguration) {
	for i := range configuration.Webhooks {
		hook := &configuration.Webhooks[i]
		prepareWebhook(&hook.FailurePolicy, &hook.TimeoutSeconds, &hook.ClientConfig, hook.Rules)
		prepareMatch(&hook.MatchPolicy, &hook.NamespaceSelector, &hook.ObjectSelector)
		orDefault(&hook.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
	}
}

func prepareWebhook(policy **admissionregistrationv1.FailurePolicyType, timeout **int32, client *admissionregistrationv1.WebhookClientConfig,
	rules []admissionregistrationv1.RuleWithOperations,
) {
	orDefault(policy, admissionregistrationv1.Fail)
	orDefault(timeout, webhookTimeout)
	if client.Service != nil {
		orDefault(&client.Service.Port, webhookPort)
	}
	for i := range rules {
		orDefault(&rules[i].Scope, admissionregistrationv1.AllScopes)
	}
}

func prepareValidatingPolicy(policy, _ *admissionregistrationv1.ValidatingAdmissionPolicy) {
	orDefault(&policy.Spec.FailurePolicy, admissionregistrationv1.Fail)
	prepareResources(policy.Spec.MatchConstraints)
}

func prepareMutatingPolicy(policy, _ *admissionregistrationv1.MutatingAdmissionPolicy) {
	orDefault(&policy.Spec.FailurePolicy, admissionregistrationv1.Fail)
	orValue(&policy.Spec.ReinvocationPolicy, admissionregistrationv1.NeverReinvocationPolicy)
	prepareResources(policy.Spec.MatchConstraints)
}

func prepareValidatingBinding(binding, _ *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	prepareResources(binding.Spec.MatchResources)
}

func prepareMutatingBinding(binding, _ *admissionregistrationv1.MutatingAdmissionPolicyBinding) {
	prepareResources(binding.Spec.MatchResources)
}

func prepareResources(resources *admissionregistrationv1.MatchResources) {
	if resources == nil {
		return
	}
	prepareMatch(&resources.MatchPolicy, &resources.NamespaceSelector, &resources.ObjectSelector)
	for _, rules := range [][]admissionregistrationv1.NamedRuleWithOperations{resources.ResourceRules, resources.ExcludeResourceRules} {
		for i := range rules {
			orDefault(&rules[i].Scope, admissionregistrationv1.AllScopes)
		}
	}
}

func prepareMatch(policy **admissionregistrationv1.MatchPolicyType, namespaces, objects **metav1.LabelSelector) {
	orDefault(policy, admissionregistrationv1.Equivalent)
	orDefault(namespaces, metav1.LabelSelector{})
	orDefault(objects, metav1.LabelSelector{})
}
