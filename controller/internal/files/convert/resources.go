// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"
	"strings"
	"sync"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	kubeutils "github.com/kyverno/kyverno/pkg/utils/kube"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// kindsOf returns the kinds that a rule can be about.
func (c *converter) kindsOf(list kyvernov1.ResourceFilters, all bool, field string) []string {
	var kinds []string
	for _, filter := range list {
		if len(filter.Kinds) == 0 && !all {
			c.refuse(field, "name the kinds", "a filter names no kinds, which is any resource")
		}
		kinds = union(kinds, filter.Kinds...)
	}
	if len(kinds) == 0 {
		c.refuse(field, "name the kinds", "it names no kinds, which is any resource")
	}
	return kinds
}

// union adds to a list what it does not have.
func union[T comparable](list []T, more ...T) []T {
	for _, one := range more {
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

// operationsOf returns the operations of a rule. If it names no operations, it is about requests that create or
// update, also in the older engine if it has a pattern.
func operationsOf(list kyvernov1.ResourceFilters) []admissionregistrationv1.OperationType {
	var operations []admissionregistrationv1.OperationType
	for _, filter := range list {
		for _, one := range filter.Operations {
			operations = union(operations, admissionregistrationv1.OperationType(one))
		}
		if len(filter.Operations) > 0 {
			continue
		}
		operations = union(operations, admissionregistrationv1.Create, admissionregistrationv1.Update)
		for _, kind := range filter.Kinds {
			if _, _, _, subresource := kubeutils.ParseKindSelector(kind); subresource != "" {
				operations = union(operations, admissionregistrationv1.Connect)
			}
		}
	}
	return operations
}

// resourceRules returns a rule for each group and version of the kinds.
func (c *converter) resourceRules(kinds []string, operations []admissionregistrationv1.OperationType, field string) []admissionregistrationv1.NamedRuleWithOperations {
	var rules []admissionregistrationv1.NamedRuleWithOperations
	for _, text := range kinds {
		group, version, kind, subresource := kubeutils.ParseKindSelector(text)
		if kind == "" {
			c.refuse(field, "correct it", "the kind %q can't be read", text)
			return nil
		}
		for _, one := range c.resourcesOf(group, version, kind, field) {
			at := slices.IndexFunc(rules, func(rule admissionregistrationv1.NamedRuleWithOperations) bool {
				return rule.APIGroups[0] == one.Group && rule.APIVersions[0] == one.Version
			})
			if at < 0 {
				at = len(rules)
				rules = append(rules, admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: operations, Rule: admissionregistrationv1.Rule{APIGroups: []string{one.Group}, APIVersions: []string{one.Version}},
				}})
			}
			if subresource != "" {
				one.Resource += "/" + subresource
			}
			rules[at].Resources = union(rules[at].Resources, one.Resource)
		}
	}
	return rules
}

// resourcesOf returns the resources of a kind.
func (c *converter) resourcesOf(group, version, kind, field string) []schema.GroupVersionResource {
	switch {
	case kind == "*":
		return []schema.GroupVersionResource{{Group: group, Version: version, Resource: "*"}}
	case hasWildcard(kind):
		c.refuse(field, "name the kinds", "the kind %q has wildcards", kind)
	case hasWildcard(group) && group != "*":
		c.refuse(field, "name the group", "the group %q has wildcards", group)
	}
	if hasWildcard(version) {
		version = "*"
	}
	if found := c.options.resources(group, kind); len(found) > 0 {
		out := make([]schema.GroupVersionResource, len(found))
		for i, one := range found {
			out[i] = one.WithVersion(version)
			if version == "*" && one.Group == "" {
				out[i].Version = "v1"
			}
		}
		return out
	}
	plural := c.options.Plural(kind)
	if group == "*" {
		c.note("%s: the resource of the kind %s is taken to be %s, in any group; name the group to be sure", field, kind, plural)
	} else {
		c.note("%s: the resource of the kind %s in %s is taken to be %s", field, kind, group, plural)
	}
	return []schema.GroupVersionResource{{Group: group, Version: version, Resource: plural}}
}

// builtins returns the groups of Kubernetes' own kinds.
var builtins = sync.OnceValue(func() map[string][]string {
	groups := map[string][]string{}
	for kind := range scheme.Scheme.AllKnownTypes() {
		group := kind.Group
		if kind.Version == runtime.APIVersionInternal || group == "extensions" || group == "events.k8s.io" || slices.Contains(groups[kind.Kind], group) {
			continue
		}
		if strings.HasSuffix(kind.Kind, "List") || strings.HasSuffix(kind.Kind, "Options") && group != "" {
			continue
		}
		groups[kind.Kind] = append(groups[kind.Kind], group)
	}
	return groups
})

// resources returns those of a kind: Kubernetes' own, or others.
func (o Options) resources(group, kind string) []schema.GroupResource {
	var out []schema.GroupResource
	for _, known := range builtins()[kind] {
		if group == "*" || group == known {
			out = append(out, schema.GroupResource{Group: known, Resource: o.Plural(kind)})
		}
	}
	if len(out) == 0 && o.Kinds != nil {
		return o.Kinds(group, kind)
	}
	slices.SortFunc(out, func(a, b schema.GroupResource) int { return strings.Compare(a.Group, b.Group) })
	return out
}
