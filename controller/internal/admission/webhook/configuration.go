// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

// The names of the webhooks.
const (
	FailWebhook   = "fail.validate.docket.dev"
	IgnoreWebhook = "ignore.validate.docket.dev"
)

const (
	// nameLabel is what the configuration of the manifests has, and managedByLabel what one had that the
	// controller made itself, as it once did.
	nameLabel      = "app.kubernetes.io/name"
	managedByLabel = "app.kubernetes.io/managed-by"
	ownName        = "docket-controller"
	// injectAnnotation asks cert-manager to write the bundle.
	injectAnnotation = "cert-manager.io/inject-ca-from"
)

// webhooks returns those that have rules. What they take over from before, which may be nil, is
// the bundle if it is up to others. Every field that the API has a default for is set, so that
// what it returns can be compared.
func (c *RegistrarConfig) webhooks(chosen selection, before *admissionregistrationv1.ValidatingWebhookConfiguration) []admissionregistrationv1.ValidatingWebhook {
	var result []admissionregistrationv1.ValidatingWebhook
	for _, hook := range []struct {
		name, path string
		set        *ruleSet
		failure    admissionregistrationv1.FailurePolicyType
	}{
		{FailWebhook, c.FailPath, chosen.fail, admissionregistrationv1.Fail},
		{IgnoreWebhook, c.IgnorePath, chosen.ignore, admissionregistrationv1.Ignore},
	} {
		rules, all := hook.set.rules(c.MaxRules)
		if len(rules) == 0 {
			continue
		}
		bundle := c.CABundle()
		if len(bundle) == 0 {
			bundle = bundleOf(before, hook.name)
		}
		failure := hook.failure
		if c.InjectFrom != "" && len(bundle) == 0 {
			failure = admissionregistrationv1.Ignore // Nobody can be trusted yet.
		}
		conditions := c.conditions()
		if all {
			conditions = append(conditions, notOf(hook.set.sortedExclusion())...)
		}
		result = append(result, admissionregistrationv1.ValidatingWebhook{
			Name: hook.name, ClientConfig: c.client(hook.path, bundle), Rules: rules, FailurePolicy: &failure,
			MatchPolicy: new(admissionregistrationv1.Equivalent), SideEffects: new(admissionregistrationv1.SideEffectClassNoneOnDryRun),
			TimeoutSeconds: new(int32(policy.ReviewTimeout(c.Timeout, hook.set.timeout) / time.Second)), AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector: c.namespaces(), ObjectSelector: &metav1.LabelSelector{}, MatchConditions: conditions,
		})
	}
	return result
}

func (c *RegistrarConfig) client(path string, bundle []byte) admissionregistrationv1.WebhookClientConfig {
	if c.URL != "" {
		return admissionregistrationv1.WebhookClientConfig{URL: new(c.URL + path), CABundle: bundle}
	}
	return admissionregistrationv1.WebhookClientConfig{CABundle: bundle, Service: &admissionregistrationv1.ServiceReference{
		Namespace: c.Service.Namespace, Name: c.Service.Name, Port: new(int32(servicePort)), Path: &path,
	}}
}

// bundleOf returns the bundle of a webhook, or else that of any other: they are the same server.
func bundleOf(configuration *admissionregistrationv1.ValidatingWebhookConfiguration, name string) []byte {
	if configuration == nil {
		return nil
	}
	var other []byte
	for i := range configuration.Webhooks {
		hook := &configuration.Webhooks[i]
		if hook.Name == name && len(hook.ClientConfig.CABundle) > 0 {
			return hook.ClientConfig.CABundle
		}
		if len(other) == 0 {
			other = hook.ClientConfig.CABundle
		}
	}
	return other
}

func (c *RegistrarConfig) namespaces() *metav1.LabelSelector {
	if len(c.ExcludeNamespaces) == 0 {
		return &metav1.LabelSelector{}
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: sortedSet(c.ExcludeNamespaces),
	}}}
}

// conditions leave out requests by who sends them. A field that is missing is no error, which would
// deny the request.
func (c *RegistrarConfig) conditions() []admissionregistrationv1.MatchCondition {
	var result []admissionregistrationv1.MatchCondition
	if users := sortedSet(c.ExcludeUsers); len(users) > 0 {
		result = append(result, admissionregistrationv1.MatchCondition{
			Name: "excluded-users", Expression: "!has(request.userInfo.username) || !(" + anyOf("request.userInfo.username", users) + ")",
		})
	}
	return result
}

// anyOf is the expression that a text is one of the patterns.
func anyOf(text string, patterns []string) string {
	var exact, terms []string
	for _, pattern := range patterns {
		if prefix, ok := strings.CutSuffix(pattern, wildcard); ok {
			terms = append(terms, fmt.Sprintf("%s.startsWith(%s)", text, strconv.QuoteToASCII(prefix)))
			continue
		}
		exact = append(exact, strconv.QuoteToASCII(pattern))
	}
	if len(exact) > 0 {
		terms = append([]string{fmt.Sprintf("%s in [%s]", text, strings.Join(exact, ", "))}, terms...)
	}
	return strings.Join(terms, " || ")
}

// notOf leaves out requests by resource.
func notOf(excluded []schema.GroupResource) []admissionregistrationv1.MatchCondition {
	var groups, resources, exact []string
	for _, r := range excluded {
		switch {
		case r.Resource == wildcard:
			groups = append(groups, strconv.QuoteToASCII(r.Group))
		case r.Group == wildcard:
			resources = append(resources, strconv.QuoteToASCII(r.Resource))
		default:
			exact = append(exact, strconv.QuoteToASCII(r.Group+"/"+r.Resource))
		}
	}
	var result []admissionregistrationv1.MatchCondition
	for _, condition := range []struct {
		name, text string
		values     []string
	}{
		{"excluded-api-groups", "request.resource.group", groups},
		{"excluded-resources", "request.resource.resource", resources},
		{"excluded-group-resources", "request.resource.group + '/' + request.resource.resource", exact},
	} {
		if len(condition.values) > 0 {
			result = append(result, admissionregistrationv1.MatchCondition{
				Name: condition.name, Expression: fmt.Sprintf("!(%s in [%s])", condition.text, strings.Join(condition.values, ", ")),
			})
		}
	}
	return result
}

// isOurs reports whether the manifests create a configuration.
func isOurs(have *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
	return have.Labels[nameLabel] == ownName || have.Labels[managedByLabel] == ownName
}

// apply makes have what is wanted, and reports whether that changed it. Labels, annotations and
// owners of others stay: what installs the object goes on managing them.
func (c *RegistrarConfig) apply(have *admissionregistrationv1.ValidatingWebhookConfiguration, hooks []admissionregistrationv1.ValidatingWebhook, owner *metav1.OwnerReference) bool {
	before := have.DeepCopy()
	have.Webhooks = hooks
	if c.InjectFrom != "" {
		metav1.SetMetaDataAnnotation(&have.ObjectMeta, injectAnnotation, c.InjectFrom)
	}
	if owner != nil && !slices.ContainsFunc(have.OwnerReferences, func(o metav1.OwnerReference) bool { return equality.Semantic.DeepEqual(o, *owner) }) {
		have.OwnerReferences = slices.DeleteFunc(have.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.APIVersion == owner.APIVersion && o.Kind == owner.Kind && o.Name == owner.Name
		})
		have.OwnerReferences = append(have.OwnerReferences, *owner)
	}
	return !equality.Semantic.DeepEqual(before, have)
}

// fails reports whether there is a webhook that makes the API server deny requests.
func fails(hooks []admissionregistrationv1.ValidatingWebhook) bool {
	return slices.ContainsFunc(hooks, func(hook admissionregistrationv1.ValidatingWebhook) bool {
		return hook.FailurePolicy == nil || *hook.FailurePolicy == admissionregistrationv1.Fail
	})
}

func sortedSet(values []string) []string {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}
