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
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// matched is what a rule is about.
type matched struct {
	// rules are the resource rules, in the order of the kinds.
	rules []any
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
func (c *converter) match(rule *kyvernov1.Rule, field string) (matched, error) {
	list, all := filters(rule.MatchResources)
	kinds, err := kindsOf(list, all, field+".match")
	if err != nil {
		return matched{}, err
	}
	var out matched
	if out.rules, err = c.resourceRules(kinds, operationsOf(list), field+".match"); err != nil {
		return matched{}, err
	}
	c.kinds = kinds
	out.podsOnly = c.podsOnlyKinds()
	c.single = len(list) == 1 // Then the resource rules say which operations.
	if out.condition, err = c.block(rule.MatchResources, kinds, field+".match"); err != nil {
		return matched{}, err
	}
	if rule.ExcludeResources == nil || rule.ExcludeResources.IsEmpty() {
		return out, nil
	}
	c.single = false
	excluded, err := c.block(*rule.ExcludeResources, kinds, field+".exclude")
	if err != nil {
		return matched{}, err
	}
	out.condition = and(out.condition, not(excluded))
	return out, nil
}

// block converts the filters of match or exclude.
func (c *converter) block(block kyvernov1.MatchResources, kinds []string, field string) (cel, error) {
	list, all := filters(block)
	conditions := make([]cel, len(list))
	for i, filter := range list {
		var err error
		if conditions[i], err = c.filter(filter, kinds, fmt.Sprintf("%s[%d]", field, i)); err != nil {
			return nil, err
		}
	}
	if all {
		return and(conditions...), nil
	}
	return or(conditions...), nil
}

// kindsOf returns the kinds that a rule can be about.
func kindsOf(list kyvernov1.ResourceFilters, all bool, field string) ([]string, error) {
	var kinds []string
	for _, filter := range list {
		if len(filter.Kinds) == 0 && !all {
			return nil, refuse(field, "name the kinds", "a filter names no kinds, which is any resource")
		}
		for _, kind := range filter.Kinds {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	if len(kinds) == 0 {
		return nil, refuse(field, "name the kinds", "it names no kinds, which is any resource")
	}
	return kinds, nil
}

// operationsOf returns the operations of a rule. If it names no operations, it is about requests that create or
// update, also in the older engine if it has a pattern.
func operationsOf(list kyvernov1.ResourceFilters) []string {
	var operations []string
	add := func(names ...string) {
		for _, name := range names {
			if !slices.Contains(operations, name) {
				operations = append(operations, name)
			}
		}
	}
	for _, filter := range list {
		if len(filter.Operations) == 0 {
			add("CREATE", "UPDATE")
			for _, kind := range filter.Kinds {
				if _, _, _, subresource := kubeutils.ParseKindSelector(kind); subresource != "" {
					add("CONNECT")
				}
			}
		}
		for _, operation := range filter.Operations {
			add(string(operation))
		}
	}
	return operations
}

// resourceRules returns a rule for each group of the kinds.
func (c *converter) resourceRules(kinds, operations []string, field string) ([]any, error) {
	type key struct{ group, version string }
	resources := map[key][]any{}
	var keys []key
	for _, text := range kinds {
		group, version, kind, subresource := kubeutils.ParseKindSelector(text)
		if kind == "" {
			return nil, refuse(field, "correct it", "the kind %q can't be read", text)
		}
		found, err := c.resourcesOf(group, version, kind, field)
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			k := key{one.Group, one.Version}
			if _, ok := resources[k]; !ok {
				keys = append(keys, k)
			}
			name := one.Resource
			if subresource != "" {
				name += "/" + subresource
			}
			if !slices.Contains(resources[k], any(name)) {
				resources[k] = append(resources[k], name)
			}
		}
	}
	rules := make([]any, len(keys))
	for i, k := range keys {
		rules[i] = map[string]any{
			"apiGroups": []any{k.group}, "apiVersions": []any{k.version}, "resources": resources[k], "operations": anyList(operations),
		}
	}
	return rules, nil
}

func anyList(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// resourcesOf returns the resources of a kind.
func (c *converter) resourcesOf(group, version, kind, field string) ([]schema.GroupVersionResource, error) {
	if hasWildcard(kind) {
		if kind != "*" {
			return nil, refuse(field, "name the kinds", "the kind %q has wildcards", kind)
		}
		return []schema.GroupVersionResource{{Group: group, Version: version, Resource: "*"}}, nil
	}
	if hasWildcard(group) && group != "*" {
		return nil, refuse(field, "name the group", "the group %q has wildcards", group)
	}
	if hasWildcard(version) {
		version = "*"
	}
	if found := c.options.Kinds(group, kind); len(found) > 0 {
		out := make([]schema.GroupVersionResource, len(found))
		for i, one := range found {
			out[i] = one.WithVersion(version)
			if version == "*" && one.Group == "" {
				out[i].Version = "v1"
			}
		}
		return out, nil
	}
	plural := c.options.Plural(kind)
	if group == "*" {
		c.note("%s: the resource of the kind %s is taken to be %s, in any group; name the group to be sure", field, kind, plural)
	} else {
		c.note("%s: the resource of the kind %s in %s is taken to be %s", field, kind, group, plural)
	}
	return []schema.GroupVersionResource{{Group: group, Version: version, Resource: plural}}, nil
}

// filter converts one filter of match or exclude. Its kinds are a condition if there are others.
func (c *converter) filter(filter kyvernov1.ResourceFilter, kinds []string, field string) (cel, error) {
	if filter.ResourceDescription.IsEmpty() && len(filter.Subjects)+len(filter.Roles)+len(filter.ClusterRoles) == 0 {
		return nil, refuse(field, "remove it", "the filter is empty")
	}
	var all []cel
	add := func(condition cel, err error) error {
		all = append(all, condition)
		return err
	}
	if len(filter.Operations) > 0 && !c.single {
		operations := make([]string, len(filter.Operations))
		for i, operation := range filter.Operations {
			operations[i] = string(operation)
		}
		all = append(all, oneOf(operation, operations))
	}
	for _, step := range []func() error{
		func() error { return add(c.kindCondition(filter.Kinds, kinds, field)) },
		func() error { return add(c.users(filter.UserInfo, field)) },
		func() error {
			return add(c.labelSelector(filter.NamespaceSelector, c.namespaceLabels(), field+".namespaceSelector"))
		},
		func() error {
			return add(c.labelSelector(filter.Selector, c.metadata().below("labels"), field+".selector"))
		},
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	names := filter.Names
	if filter.Name != "" {
		all = append(all, anyWildcard(c.nameOf(), []string{filter.Name}))
	}
	if len(names) > 0 {
		all = append(all, anyWildcard(c.nameOf(), names))
	}
	if len(filter.Namespaces) > 0 {
		all = append(all, anyWildcard(c.namespaceOf(), filter.Namespaces))
	}
	all = append(all, c.annotations(filter.Annotations))
	return and(all...), nil
}

// kindCondition reports whether a resource is of some kinds, if the rule is about others as well.
func (c *converter) kindCondition(some, of []string, field string) (cel, error) {
	if len(some) == 0 {
		return always, nil
	}
	rest := slices.DeleteFunc(slices.Clone(of), func(kind string) bool { return slices.Contains(some, kind) || slices.Contains(some, "*") })
	if len(rest) == 0 {
		return always, nil
	}
	var conditions []cel
	var names []string
	for _, text := range some {
		group, version, kind, subresource := kubeutils.ParseKindSelector(text)
		if subresource != "" {
			return nil, refuse(field, "make it a rule of its own", "the subresource %s is in one filter of several", text)
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
	return or(conditions...), nil
}

// users converts what a filter says about who asks.
func (c *converter) users(info kyvernov1.UserInfo, field string) (cel, error) {
	if len(info.Roles)+len(info.ClusterRoles) > 0 {
		return nil, refuse(field, "name users and groups (subjects) instead", "CEL does not know the roles of a user")
	}
	if len(info.Subjects) == 0 {
		return always, nil
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
	return ok, nil
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

func (c *converter) namespaceLabels() place { return at(ident("namespaceObject.metadata.labels")) }

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
func (c *converter) labelSelector(selector *metav1.LabelSelector, labels place, field string) (cel, error) {
	if selector == nil {
		return always, nil
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
			return nil, refuse(fmt.Sprintf("%s.matchExpressions[%d]", field, i), "correct it", "the operator %s is not known", requirement.Operator)
		}
	}
	if strings.HasPrefix(oneLine(labels.root), "namespaceObject") {
		all = append([]cel{call(operators.NotEquals, ident("namespaceObject"), null)}, all...)
	}
	return and(all...), nil
}
