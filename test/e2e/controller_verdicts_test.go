// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/docket-project/docket/internal/kit/testkit"
)

var admissionPoliciesDir = flag.String("admission-policies-dir", "", "folder with more ValidatingAdmissionPolicies for TestControllerAdmissionVerdicts: each file and each folder in it is a set of its own")

const (
	validatingKind = "ValidatingAdmissionPolicy"
	bindingKind    = "ValidatingAdmissionPolicyBinding"
)

// policySet are policies with their bindings and parameters, and perhaps more objects to ask about.
type policySet struct {
	name              string
	policies, rest    []*unstructured.Unstructured
	bindings          []*unstructured.Unstructured
	ignoring, leftOut map[string]bool // by name of the policy
	// mayBeRefused tells that the API server may refuse the policies: samples may be of another version, or show mistakes.
	mayBeRefused bool
}

// TestControllerAdmissionVerdicts compares, for each object and each binding of ValidatingAdmissionPolicies, our
// result with what kube-apiserver says when the object is created, including the words. The policies are those of
// testdata and of
// -admission-policies-dir.
func TestControllerAdmissionVerdicts(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	sets := readPolicySets(t, filepath.Join("testdata", "admissionpolicies"))
	if *admissionPoliciesDir != "" {
		for _, set := range readPolicySets(t, *admissionPoliciesDir) {
			set.mayBeRefused = true
			sets = append(sets, set)
		}
	}
	v := newVerdicts(t)
	for _, set := range sets {
		t.Run(set.name, func(t *testing.T) { v.compare(t, set) })
	}
}

// readPolicySets reads each file and each folder in a folder.
func readPolicySets(t *testing.T, folder string) []*policySet {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%s has no policies: %v", folder, err)
	}
	var sets []*policySet
	for _, entry := range entries {
		set := &policySet{name: strings.TrimSuffix(entry.Name(), ".yaml"), ignoring: map[string]bool{}, leftOut: map[string]bool{}}
		files := []string{filepath.Join(folder, entry.Name())}
		if entry.IsDir() {
			files = testkit.Must(filepath.Glob(filepath.Join(files[0], "*.yaml")))(t)
		}
		for _, file := range files {
			set.read(t, file)
		}
		set.bindAll()
		sets = append(sets, set)
	}
	return sets
}

func (s *policySet) read(t *testing.T, file string) {
	t.Helper()
	data := testkit.Must(os.ReadFile(file))(t)
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(data)), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(&object.Object); {
		case errors.Is(err, io.EOF):
			return
		case err != nil:
			t.Fatalf("%s: %v", file, err)
		case object.Object == nil:
			continue // A document without content.
		}
		if !object.IsList() {
			s.add(object)
			continue
		}
		if err := object.EachListItem(func(item runtime.Object) error {
			one, ok := item.(*unstructured.Unstructured)
			if !ok {
				return fmt.Errorf("an item is %T", item)
			}
			s.add(one)
			return nil
		}); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

func (s *policySet) add(object *unstructured.Unstructured) {
	switch object.GetKind() {
	case validatingKind:
		object.SetAPIVersion("admissionregistration.k8s.io/v1") // Samples may be older.
		s.policies = append(s.policies, object)
		failure, _, _ := unstructured.NestedString(object.Object, "spec", "failurePolicy")
		s.ignoring[object.GetName()] = failure == "Ignore"
		s.leftOut[object.GetName()] = unknowable(object)
	case bindingKind:
		object.SetAPIVersion("admissionregistration.k8s.io/v1")
		s.bindings = append(s.bindings, object)
	default:
		s.rest = append(s.rest, object)
	}
}

// unknowable reports whether a scan can't know what a policy says: it asks who sent the request or what that user may
// do, or is not about creations.
func unknowable(object *unstructured.Unstructured) bool {
	for _, field := range []string{"matchConditions", "variables", "validations"} {
		list, _, _ := unstructured.NestedSlice(object.Object, "spec", field)
		for _, item := range list {
			one, _ := item.(map[string]any)
			if text := fmt.Sprint(one["expression"]); strings.Contains(text, "userInfo") || strings.Contains(text, "authorizer") {
				return true
			}
		}
	}
	rules, _, _ := unstructured.NestedSlice(object.Object, "spec", "matchConstraints", "resourceRules")
	return !slices.ContainsFunc(rules, func(item any) bool {
		rule, _ := item.(map[string]any)
		operations, _, _ := unstructured.NestedStringSlice(rule, "operations")
		return slices.Contains(operations, "CREATE") || slices.Contains(operations, "*")
	})
}

// bindAll binds what is not bound, and has all bindings warn: a request shows all warnings, and only one refusal.
func (s *policySet) bindAll() {
	for _, policy := range s.policies {
		if !slices.ContainsFunc(s.bindings, func(b *unstructured.Unstructured) bool { return boundBy(b) == policy.GetName() }) {
			s.bindings = append(s.bindings, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": policy.GetAPIVersion(), "kind": bindingKind, "metadata": map[string]any{"name": policy.GetName()},
				"spec": map[string]any{"policyName": policy.GetName()},
			}})
		}
	}
	for _, binding := range s.bindings {
		if err := unstructured.SetNestedStringSlice(binding.Object, []string{"Warn"}, "spec", "validationActions"); err != nil {
			panic(err) // It has a spec.
		}
	}
}

func boundBy(binding *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(binding.Object, "spec", "policyName")
	return name
}

// foreignParameters returns definitions of the kinds of parameters that the API server does not have, by name.
func (s *policySet) foreignParameters() map[string]string {
	found := map[string]string{}
	for _, policy := range s.policies {
		version, _, _ := unstructured.NestedString(policy.Object, "spec", "paramKind", "apiVersion")
		kind, _, _ := unstructured.NestedString(policy.Object, "spec", "paramKind", "kind")
		group, version, custom := strings.Cut(version, "/")
		if !custom || !strings.HasSuffix(group, "example.com") {
			continue
		}
		singular := strings.ToLower(kind)
		found[singular+"s."+group] = fmt.Sprintf(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {plural: %[1]ss, singular: %[1]s, kind: %[3]s}
  versions: [{name: %[4]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, singular, group, kind, version)
	}
	return found
}

// apply returns why the API server refuses one of the set; "" if it takes all.
func (s *policySet) apply(t *testing.T, v *verdicts) string {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(s.foreignParameters())) {
		v.kubectl.RunInput(t, s.foreignParameters()[name], "apply", "-f", "-")
		v.kubectl.Run(t, "wait", "--for=condition=Established", "crd/"+name)
	}
	for _, object := range slices.Concat(s.rest, s.policies, s.bindings) {
		if result := v.kubectl.Try(t, textOf(t, object.Object), "apply", "--validate=ignore", "-f", "-"); result.Code != 0 {
			return result.Stderr
		}
	}
	return ""
}

func (s *policySet) remove(t *testing.T, v *verdicts) {
	t.Helper()
	for _, object := range slices.Concat(s.bindings, s.policies, s.rest) {
		v.kubectl.RunInput(t, textOf(t, object.Object), "delete", "--ignore-not-found", "-f", "-")
	}
}
