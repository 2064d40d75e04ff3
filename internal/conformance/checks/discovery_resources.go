// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/internal/conformance"
)

// discoveryVerbNames are all that discovery can list; rights know more.
var discoveryVerbNames = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy"}

var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

func discoveryNames(ctx context.Context, p *conformance.Probe) error {
	const expected = "names of resources that are lower-case DNS labels, and kinds in CamelCase"
	return judgeResources(ctx, p, expected, func(one metav1.APIResource) (wrong []string) {
		label := func(what, name string) {
			if len(validation.IsDNS1123Label(name)) > 0 {
				wrong = append(wrong, fmt.Sprintf("the %s %q is not a lower-case DNS label", what, name))
			}
		}
		if strings.Contains(one.Name, "/") {
			return nil
		}
		label("name", one.Name)
		if one.SingularName != "" {
			label("singular name", one.SingularName)
		}
		for _, name := range one.ShortNames {
			label("short name", name)
		}
		if !camelCase.MatchString(one.Kind) {
			wrong = append(wrong, fmt.Sprintf("the kind %q is not in CamelCase", one.Kind))
		}
		return wrong
	})
}

func discoveryVerbs(ctx context.Context, p *conformance.Probe) error {
	expected := "verbs of each resource, all of them among " + strings.Join(discoveryVerbNames, ", ")
	return judgeResources(ctx, p, expected, func(one metav1.APIResource) (wrong []string) {
		if len(one.Verbs) == 0 {
			wrong = append(wrong, "no verbs")
		}
		for _, verb := range one.Verbs {
			if !slices.Contains(discoveryVerbNames, verb) {
				wrong = append(wrong, fmt.Sprintf("the verb %q", verb))
			}
		}
		return wrong
	})
}

func discoverySubresources(ctx context.Context, p *conformance.Probe) error {
	response, resources, err := resourcesOf(ctx, p)
	if err != nil {
		return err
	}
	parents := map[string]metav1.APIResource{}
	for _, one := range resources {
		parents[one.Name] = one
	}
	var wrong []string
	for _, one := range resources {
		name, sub, isSub := strings.Cut(one.Name, "/")
		if !isSub {
			continue
		}
		parent, known := parents[name]
		kind := kindText(p.GroupVersion, one.Group, one.Version, one.Kind)
		switch {
		case !known:
			wrong = append(wrong, fmt.Sprintf("%s: there is no resource %q", one.Name, name))
		case !isChecked(p, name):
		case sub == "status" && kind != kindText(p.GroupVersion, parent.Group, parent.Version, parent.Kind):
			wrong = append(wrong, fmt.Sprintf("%s: its kind is %s, that of the resource is %s", one.Name, kind, parent.Kind))
		case sub == "scale" && kind != "autoscaling/v1 Scale":
			wrong = append(wrong, fmt.Sprintf("%s: its kind is %s", one.Name, kind))
		}
	}
	return failIfAny(response, wrong, "subresources of resources that are listed, status of the resource's kind, and scale of the kind autoscaling/v1 Scale")
}

func discoveryUnique(ctx context.Context, p *conformance.Probe) error {
	response, resources, err := resourcesOf(ctx, p)
	if err != nil {
		return err
	}
	entries, names, kinds := map[string]bool{}, map[string]string{}, map[string]string{}
	var wrong []string
	claim := func(taken map[string]string, what, name, resource string) {
		if other, found := taken[name]; found && other != resource {
			wrong = append(wrong, fmt.Sprintf("the %s %q of %s is taken by %s", what, name, resource, other))
		}
		taken[name] = resource
	}
	for _, one := range resources {
		if entries[one.Name] {
			wrong = append(wrong, fmt.Sprintf("%q is listed twice", one.Name))
		}
		entries[one.Name] = true
		if strings.Contains(one.Name, "/") {
			continue
		}
		claim(kinds, "kind", one.Kind, one.Name)
		claim(names, "name", one.Name, one.Name)
		if one.SingularName != "" {
			claim(names, "singular name", one.SingularName, one.Name)
		}
		for _, name := range one.ShortNames {
			claim(names, "short name", name, one.Name)
		}
	}
	return failIfAny(response, wrong, "each name and kind to be that of one resource only")
}
