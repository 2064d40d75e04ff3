// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package collection

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
)

// elsewhere are kinds whose tests are about something else than results for existing resources: what a
// resource is changed to, and images in registries of the Internet.
var elsewhere = map[string]bool{
	policy.MutatingPolicy: true, policy.NamespacedMutatingPolicy: true, policy.MutatingAdmissionPolicy: true,
	policy.ImageValidatingPolicy: true, policy.NamespacedImageValidatingPolicy: true,
}

// outOfScope are the parts of rules that are not validation.
var outOfScope = []string{"mutate", "generate", "verifyImages"}

// contextSources are what a rule may load from elsewhere.
var contextSources = []string{"apiCall", "configMap", "imageRegistry", "globalReference"}

// user matches the variables about who sends a request.
var user = regexp.MustCompile(`request\.(userInfo|roles|clusterRoles)|serviceAccountName(space)?\s*\}\}|\{\{\s*serviceAccountName`)

// leftOut says why a test can't be run here; nothing if it can.
func leftOut(f *file, sorted filescan.Sorted) string {
	for _, object := range sorted.Others {
		return fmt.Sprintf("out of scope: %s", object.GetKind())
	}
	if len(f.others) > 0 {
		return "needs mocks: " + strings.Join(f.others, ", ")
	}
	var needs []string
	for _, object := range sorted.Policies {
		found := needsOf(object)
		if len(found) > 0 && strings.HasPrefix(found[0], "out of scope") {
			return found[0]
		}
		needs = append(needs, found...)
	}
	if v := f.content.Values; v != nil {
		// Values by policy are the variables of rules, which CEL policies don't have.
		if len(v.Policies) > 0 && slices.ContainsFunc(sorted.Policies, hasRules) || len(v.GlobalValues) > 0 {
			needs = append(needs, "values of variables")
		}
		if len(v.Subresources) > 0 {
			needs = append(needs, "subresources")
		}
	}
	for _, e := range f.content.Results {
		if e.Operation != "" && e.Operation != "CREATE" {
			needs = append(needs, "requests of other operations than CREATE")
		}
	}
	if len(needs) == 0 {
		return ""
	}
	slices.Sort(needs)
	return "needs mocks: " + strings.Join(slices.Compact(needs), ", ")
}

func hasRules(object manifest.Object) bool {
	return object.GroupVersionKind().Group == policy.KyvernoGroup
}

// needsOf returns what a policy needs beside the resource.
func needsOf(object manifest.Object) []string {
	var needs []string
	if elsewhere[object.GetKind()] {
		return []string{"out of scope: " + object.GetKind()}
	}
	text, err := json.Marshal(object.Object["spec"])
	if err == nil && user.Match(text) {
		needs = append(needs, "user info")
	}
	if !hasRules(object) {
		return needs
	}
	rules, _, err := unstructured.NestedSlice(object.Object, "spec", "rules")
	if err != nil {
		return needs // The compiler will say what is wrong.
	}
	for _, each := range rules {
		rule, ok := each.(map[string]any)
		if !ok {
			continue
		}
		for _, field := range outOfScope {
			if rule[field] != nil {
				return []string{"out of scope: rules of the type " + field}
			}
		}
		for _, field := range []string{"match", "exclude"} {
			if hasUser(rule[field]) {
				needs = append(needs, "user info")
			}
		}
		needs = append(needs, contextsOf(rule)...)
	}
	return needs
}

// contextsOf finds the context entries of a rule and of its loops, wherever they are.
func contextsOf(value any) []string {
	var found []string
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			found = append(found, contextsOf(item)...)
		}
	case map[string]any:
		entries, ok := v["context"].([]any)
		for _, entry := range entries {
			fields, isMap := entry.(map[string]any)
			for _, source := range contextSources {
				if ok && isMap && fields[source] != nil {
					found = append(found, source)
				}
			}
		}
		for _, inner := range v {
			found = append(found, contextsOf(inner)...)
		}
	}
	return found
}

// hasUser reports whether a match or exclude block is about who sends a request: these fields
// stand beside the one for resources.
func hasUser(block any) bool {
	fields, ok := block.(map[string]any)
	if !ok {
		return false
	}
	for _, field := range []string{"subjects", "roles", "clusterRoles"} {
		if fields[field] != nil {
			return true
		}
	}
	for _, field := range []string{"any", "all"} {
		list, isList := fields[field].([]any)
		if isList && slices.ContainsFunc(list, hasUser) {
			return true
		}
	}
	return false
}
