// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/common/operators"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	kubeutils "github.com/kyverno/kyverno/pkg/utils/kube"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// matched is what a rule is about.
type matched struct {
	// rules are the resource rules, in the order of the kinds.
	rules []admissionregistrationv1.NamedRuleWithOperations
	// condition is what they don't say.
	condition cel
	// podsOnly tells that the resources are pods and nothing else.
	podsOnly bool
}

// filters returns the filters of a block, and whether one or all of them must be true.
func filters(block kyvernov1.MatchResources) (list kyvernov1.ResourceFilters, all bool) {
	switch {
	case len(block.Any) > 0:
		return block.Any, false
	case len(block.All) > 0:
		return block.All, true
	default:
		return kyvernov1.ResourceFilters{{UserInfo: block.UserInfo, ResourceDescription: block.ResourceDescription}}, true
	}
}

// match converts the blocks match and exclude.
func (c *converter) match(rule *kyvernov1.Rule, field string) matched {
	list, all := filters(rule.MatchResources)
	kinds := c.kindsOf(list, all, field+".match")
	var out matched
	out.rules = c.resourceRules(kinds, operationsOf(list), field+".match")
	c.kinds = kinds
	out.podsOnly = c.podsOnlyKinds()
	c.single = len(list) == 1 // Then the resource rules say which operations.
	out.condition = c.block(rule.MatchResources, kinds, field+".match")
	if rule.ExcludeResources == nil || rule.ExcludeResources.IsEmpty() {
		return out
	}
	c.single = false
	out.condition = and(out.condition, not(c.block(*rule.ExcludeResources, kinds, field+".exclude")))
	return out
}

// block converts the filters of match or exclude.
func (c *converter) block(block kyvernov1.MatchResources, kinds []string, field string) cel {
	list, all := filters(block)
	conditions := make([]cel, len(list))
	for i, filter := range list {
		conditions[i] = c.filter(filter, kinds, fmt.Sprintf("%s[%d]", field, i))
	}
	if all {
		return and(conditions...)
	}
	return or(conditions...)
}

// filter converts one filter of match or exclude. Its kinds are a condition if there are others.
func (c *converter) filter(filter kyvernov1.ResourceFilter, kinds []string, field string) cel {
	if filter.ResourceDescription.IsEmpty() && len(filter.Subjects)+len(filter.Roles)+len(filter.ClusterRoles) == 0 {
		return c.refuse(field, "remove it", "the filter is empty")
	}
	var all []cel
	if len(filter.Operations) > 0 && !c.single {
		var operations []string
		for _, one := range filter.Operations {
			operations = append(operations, string(one))
		}
		all = append(all, oneOf(operation, operations))
	}
	all = append(all,
		c.kindCondition(filter.Kinds, kinds, field), c.users(filter.UserInfo, field),
		c.labelSelector(filter.NamespaceSelector, at(ident("namespaceObject.metadata.labels")), field+".namespaceSelector"),
		c.labelSelector(filter.Selector, c.metadata().below("labels"), field+".selector"),
	)
	if filter.Name != "" {
		all = append(all, anyWildcard(c.nameOf(), []string{filter.Name}))
	}
	if len(filter.Names) > 0 {
		all = append(all, anyWildcard(c.nameOf(), filter.Names))
	}
	if len(filter.Namespaces) > 0 {
		all = append(all, anyWildcard(c.namespaceOf(), filter.Namespaces))
	}
	all = append(all, c.annotations(filter.Annotations))
	return and(all...)
}

// kindCondition reports whether a resource is of some kinds, if the rule is about others as well.
func (c *converter) kindCondition(some, of []string, field string) cel {
	if len(some) == 0 {
		return always
	}
	rest := slices.DeleteFunc(slices.Clone(of), func(kind string) bool { return slices.Contains(some, kind) || slices.Contains(some, "*") })
	if len(rest) == 0 {
		return always
	}
	var conditions []cel
	var names []string
	for _, text := range some {
		group, version, kind, subresource := kubeutils.ParseKindSelector(text)
		if subresource != "" {
			return c.refuse(field, "make it a rule of its own", "the subresource %s is in one filter of several", text)
		}
		if group == "*" && version == "*" && !hasWildcard(kind) {
			names = append(names, kind)
			continue
		}
		apiVersion := group + "/" + version
		if group == "" || group == "*" && version == "v1" {
			apiVersion = version
		}
		if group == "*" && version != "*" && version != "v1" {
			apiVersion = "*/" + version
		}
		conditions = append(conditions, and(wildcard(ident("object.kind"), kind), wildcard(ident("object.apiVersion"), apiVersion)))
	}
	if len(names) > 0 {
		conditions = append([]cel{oneOf(ident("object.kind"), names)}, conditions...)
	}
	return or(conditions...)
}

// users converts what a filter says about who asks.
func (c *converter) users(info kyvernov1.UserInfo, field string) cel {
	if len(info.Roles)+len(info.ClusterRoles) > 0 {
		return c.refuse(field, "name users and groups (subjects) instead", "CEL does not know the roles of a user")
	}
	if len(info.Subjects) == 0 {
		return always
	}
	var names, groups []string
	for _, subject := range info.Subjects {
		switch subject.Kind {
		case rbacv1.ServiceAccountKind:
			names = append(names, "system:serviceaccount:"+subject.Namespace+":"+subject.Name)
		case rbacv1.UserKind:
			names = append(names, subject.Name)
		case rbacv1.GroupKind:
			groups = append(groups, subject.Name)
		}
	}
	ok := never
	if len(names) > 0 {
		ok = or(ok, anyWildcard(ident("request.userInfo.username"), names))
	}
	if len(groups) > 0 {
		group := ident("group")
		ok = or(ok, exists(ident("request.userInfo.groups"), group, anyWildcard(group, groups)))
	}
	return ok
}

// metadata is the resource's own, also for the controllers of pods, for which Kyverno rewrites object.metadata unless
// the namespace follows.
func (c *converter) metadata() place { return at(build.NewSelect(0, c.object, "metadata")) }

func (c *converter) nameOf() cel {
	return c.metadata().below("name").or(c.metadata().below("generateName").or(emptyText))
}

// namespaceOf is the namespace, or the name of a Namespace.
func (c *converter) namespaceOf() cel {
	namespaces := slices.ContainsFunc(c.kinds, func(kind string) bool {
		return kind == "Namespace" || kind == "v1/Namespace" || strings.HasSuffix(kind, "*")
	})
	if c.podsOnlyKinds() {
		return c.metadata().below("namespace").value()
	}
	own := c.metadata().below("namespace").or(emptyText)
	switch {
	case !namespaces:
		return own
	case len(c.kinds) == 1 && c.kinds[0] != "*":
		return c.nameOf()
	default:
		return choose(equal(build.NewSelect(0, c.object, "kind"), quote("Namespace")), c.nameOf(), own)
	}
}

func (c *converter) podsOnlyKinds() bool {
	return slices.Equal(c.kinds, []string{"Pod"}) || slices.Equal(c.kinds, []string{"v1/Pod"})
}

func (c *converter) annotations(wanted map[string]string) cel {
	var all []cel
	annotations := c.metadata().below("annotations")
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		if !hasWildcard(key) {
			one := annotations.below(key)
			all = append(all, and(one.present(), wildcard(one.value(), wanted[key])))
			continue
		}
		all = append(all, c.hasMember(annotations, key, wanted[key]))
	}
	return and(all...)
}

// hasMember reports whether a map has a member whose key and value match wildcards.
func (c *converter) hasMember(p place, key, value string) cel {
	members := p.or(emptyMap)
	k := c.variable("key")
	return exists(members, k, and(wildcard(k, key), wildcard(index(members, k), value)))
}

// labelSelector converts a selector for labels at a place.
func (c *converter) labelSelector(selector *metav1.LabelSelector, labels place, field string) cel {
	if selector == nil {
		return always
	}
	var all []cel
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		value := selector.MatchLabels[key]
		if hasWildcard(key) {
			all = append(all, c.hasMember(labels, key, value))
			continue
		}
		label := labels.below(key)
		if value == "*" || value == "" || strings.Trim(value, "*") == "" {
			all = append(all, label.present(), wildcard(label.or(emptyText), value))
			continue
		}
		all = append(all, wildcard(label.or(emptyText), value))
	}
	for i, requirement := range selector.MatchExpressions {
		label := labels.below(requirement.Key)
		switch requirement.Operator {
		case metav1.LabelSelectorOpIn:
			all = append(all, label.present(), oneOf(label.value(), requirement.Values))
		case metav1.LabelSelectorOpNotIn:
			all = append(all, or(not(label.present()), not(oneOf(label.value(), requirement.Values))))
		case metav1.LabelSelectorOpExists:
			all = append(all, label.present())
		case metav1.LabelSelectorOpDoesNotExist:
			all = append(all, not(label.present()))
		default:
			return c.refuse(fmt.Sprintf("%s.matchExpressions[%d]", field, i), "correct it", "the operator %s is not known", requirement.Operator)
		}
	}
	if strings.HasPrefix(oneLine(labels.root), "namespaceObject") {
		all = append([]cel{call(operators.NotEquals, ident("namespaceObject"), null)}, all...)
	}
	return and(all...)
}
