// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// wildcard stands for any group, version, resource or operation.
const wildcard = "*"

// resourceKey is a resource in the form that rules have.
type resourceKey struct {
	group, version string
	// resource is followed by a slash and its subresource, if it has one.
	resource string
	scope    admissionregistrationv1.ScopeType
}

// ruleSet collects the resources that one webhook has to be sent.
type ruleSet struct {
	catalog *served.Catalog
	// always is excluded; byName is if only a wildcard means it, and has all of always.
	always, byName policy.Exclusion
	wanted         map[resourceKey]map[admissionv1.Operation]bool
	timeout        time.Duration
}

// add adds the resources that a target means. Of a resource in several versions it is one: the API
// server converts what is written in another one (matchPolicy Equivalent).
func (s *ruleSet) add(target policy.Target, namespaced bool, operations []admissionv1.Operation) {
	if len(operations) == 0 {
		return
	}
	name := target.Resource
	if target.Kind != "" {
		name = target.Kind
	}
	excluded := s.always
	if hasWildcard(name) || name == "" {
		excluded = s.byName
	}
	found := s.catalog.MatchingAny(target, excluded)
	for _, r := range found {
		if namespaced && !r.Namespaced {
			continue
		}
		for _, resource := range s.withSubresource(r, target.Subresource, hasWildcard(name)) {
			s.insert(resourceKey{r.Group, r.Version, resource, admissionregistrationv1.AllScopes}, operations)
		}
	}
	if len(found) == 0 {
		s.addUnserved(target, excluded, namespaced, operations)
	}
}

// addUnserved adds a resource that is not served, if the policy gives its name and not its kind: should it
// be served later, no request is missed before that is noticed.
func (s *ruleSet) addUnserved(target policy.Target, excluded policy.Exclusion, namespaced bool, operations []admissionv1.Operation) {
	version := target.Version
	if version != wildcard && hasWildcard(version) || target.Kind != "" || target.Resource == "" ||
		hasWildcard(target.Group) || hasWildcard(target.Resource) || target.Subresource != wildcard && hasWildcard(target.Subresource) ||
		excluded.Has(schema.GroupResource{Group: target.Group, Resource: target.Resource}) {
		return
	}
	scope := admissionregistrationv1.AllScopes
	if namespaced {
		scope = admissionregistrationv1.NamespacedScope
	}
	if target.Subresource == "" || target.Subresource == wildcard {
		s.insert(resourceKey{target.Group, version, target.Resource, scope}, operations)
	}
	if target.Subresource != "" {
		s.insert(resourceKey{target.Group, version, target.Resource + "/" + target.Subresource, scope}, operations)
	}
}

// withSubresource returns how a rule names the resource, or those of its subresources that the
// pattern means; * means the resource, too. Of a resource that only a wildcard means, they are just
// those that exist.
func (s *ruleSet) withSubresource(r served.Resource, pattern string, broad bool) []string {
	switch {
	case pattern == "":
		return []string{r.Resource}
	case pattern != wildcard && !hasWildcard(pattern) && !broad:
		return []string{r.Resource + "/" + pattern}
	}
	existing := s.catalog.Subresources(r.GroupVersionResource)
	if pattern == wildcard {
		if len(existing) == 0 {
			return []string{r.Resource}
		}
		return []string{r.Resource, r.Resource + "/" + wildcard}
	}
	var names []string
	for _, name := range existing {
		if ok, err := path.Match(pattern, name); err == nil && ok {
			names = append(names, r.Resource+"/"+name)
		}
	}
	return names
}

func (s *ruleSet) insert(key resourceKey, operations []admissionv1.Operation) {
	if s.wanted[key] == nil {
		s.wanted[key] = map[admissionv1.Operation]bool{}
	}
	for _, operation := range operations {
		s.wanted[key][operation] = true
	}
}

// rules returns the rules, always in the same order. If they are more than limit, it returns one
// that has all resources instead, and true.
func (s *ruleSet) rules(limit int) ([]admissionregistrationv1.RuleWithOperations, bool) {
	// Resources of one group, version and so on are one rule.
	type ruleKey struct{ group, versions, operations, scope string }
	byVersion := map[ruleKey][]string{}
	for key, operations := range s.wanted {
		k := ruleKey{key.group, key.version, strings.Join(sortedOperations(operations), ","), string(key.scope)}
		byVersion[k] = append(byVersion[k], key.resource)
	}
	result := make([]admissionregistrationv1.RuleWithOperations, 0, len(byVersion))
	for key, resources := range byVersion {
		result = append(result, newRule(key.group, key.versions, covered(resources), strings.Split(key.operations, ","), admissionregistrationv1.ScopeType(key.scope)))
	}
	if len(result) > limit {
		return []admissionregistrationv1.RuleWithOperations{s.everything()}, true
	}
	slices.SortFunc(result, compareRules)
	return result, false
}

// everything is the rule that includes all others.
func (s *ruleSet) everything() admissionregistrationv1.RuleWithOperations {
	all, scope, resource := map[admissionv1.Operation]bool{}, admissionregistrationv1.NamespacedScope, wildcard
	for key, operations := range s.wanted {
		for operation := range operations {
			all[operation] = true
		}
		if strings.Contains(key.resource, "/") {
			resource = wildcard + "/" + wildcard // Resources and subresources.
		}
		if key.scope == admissionregistrationv1.AllScopes {
			scope = key.scope
		}
	}
	return newRule(wildcard, wildcard, []string{resource}, sortedOperations(all), scope)
}

func newRule(group, version string, resources, operations []string, scope admissionregistrationv1.ScopeType) admissionregistrationv1.RuleWithOperations {
	rule := admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{
		APIGroups: []string{group}, APIVersions: []string{version}, Resources: resources, Scope: &scope,
	}}
	for _, operation := range operations {
		rule.Operations = append(rule.Operations, admissionregistrationv1.OperationType(operation))
	}
	return rule
}

// sortedOperations returns * alone if it is among them.
func sortedOperations(operations map[admissionv1.Operation]bool) []string {
	if operations[wildcard] {
		return []string{wildcard}
	}
	var result []string
	for operation := range operations {
		result = append(result, string(operation))
	}
	slices.Sort(result)
	return result
}

// covered sorts resources and drops subresources that a wildcard of the same rule has: the API
// refuses both together.
func covered(resources []string) []string {
	slices.Sort(resources)
	return slices.DeleteFunc(slices.Clone(resources), func(resource string) bool {
		name, sub, ok := strings.Cut(resource, "/")
		return ok && sub != wildcard && slices.Contains(resources, name+"/"+wildcard)
	})
}

func compareRules(a, b admissionregistrationv1.RuleWithOperations) int {
	return cmp.Or(
		slices.Compare(a.APIGroups, b.APIGroups), slices.Compare(a.APIVersions, b.APIVersions),
		slices.Compare(a.Resources, b.Resources), slices.Compare(a.Operations, b.Operations), cmp.Compare(*a.Scope, *b.Scope))
}

func hasWildcard(text string) bool { return strings.ContainsAny(text, "*?") }
