// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
)

func TestValidatingPolicy(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		p := compile(t, strings.Replace(validatingPolicy, "policies.kyverno.io/v1", "policies.kyverno.io/"+version, 1))
		want(t, p, subject(t, goodPod), ":pass")
		results := want(t, p, subject(t, badPod), ":fail")
		wantEqual(t, "message", "bad has no tags", results[0].Message)
		wantEqual(t, "properties", map[string]string{"seen": "yes", "cel.validationIndex": "0"}, results[0].Properties)
		want(t, p, subject(t, badDeployment), ":fail")
		want(t, p, subject(t, badCronJob), ":fail")
		want(t, p, subject(t, configMap))
		// Those that a match condition leaves out are not reported.
		want(t, p, subject(t, strings.Replace(badPod, "namespace: team", "namespace: team, labels: {skip: now}", 1)))
	}
}

// TestResourceIsFound promises results for a subject whose caller does not know the resource.
func TestResourceIsFound(t *testing.T) {
	t.Parallel()
	s := subject(t, badPod)
	s.Resource.Resource = ""
	want(t, compile(t, validatingPolicy), s, ":fail")
}

func TestRequestOfCELPolicies(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		"request.object.metadata.name == 'good'", "request.operation == 'CREATE' && request.namespace == 'team'",
		"request.resource.resource == 'pods' && request.name == object.metadata.name",
	} {
		p := compile(t, strings.Replace(validatingPolicy, "variables.tagged, m", `"`+expression+`", m`, 1))
		want(t, p, subject(t, goodPod), ":pass")
	}
}

func TestNamespaceOfCELPolicies(t *testing.T) {
	t.Parallel()
	p := compile(t, strings.Replace(validatingPolicy, "variables.tagged, m", `"namespaceObject.metadata.labels['env'] == 'prod'", m`, 1))
	s := subject(t, goodPod)
	s.NamespaceLabels = map[string]string{"env": "prod"}
	want(t, p, s, ":pass")
	s.NamespaceLabels = nil
	wantError(t, p, s, "", "no such key")

	selecting := compile(t, strings.Replace(validatingPolicy, "    resourceRules", "    namespaceSelector: {matchLabels: {env: prod}}\n    resourceRules", 1))
	want(t, selecting, s)
	s.NamespaceLabels = map[string]string{"env": "prod"}
	want(t, selecting, s, ":pass")
}

func TestNamespacedValidatingPolicy(t *testing.T) {
	t.Parallel()
	p := compile(t, strings.Replace(validatingPolicy, "kind: ValidatingPolicy\nmetadata: {name: v}", "kind: NamespacedValidatingPolicy\nmetadata: {name: v, namespace: team}", 1))
	wantEqual(t, "identity", policy.Identity{Kind: policy.NamespacedValidatingPolicy, Namespace: "team", Name: "v"}, p.Identity())
	want(t, p, subject(t, badPod), ":fail")
	want(t, p, subject(t, badDeployment), ":fail")
	want(t, p, subject(t, strings.Replace(badPod, "namespace: team", "namespace: other", 1)))
}

func TestErrorsOfCELPolicies(t *testing.T) {
	t.Parallel()
	missing := compile(t, strings.Replace(validatingPolicy, "variables.tagged, m", "object.spec.nodeName == 'a', m", 1))
	wantError(t, missing, subject(t, goodPod), "", "no such key: nodeName")
	for function, cause := range map[string]string{
		"resource.Get('v1', 'configmaps', 'team', 'c').data.x == 'y'":         "no cluster",
		"resource.List('v1', 'configmaps', 'team').items.size() == 0":         "no cluster",
		"globalContext.Get('entry', '') == null":                              "there is no context cache here",
		"image.GetMetadata('registry.test/web:1').config.architecture == 'x'": "registries are not asked",
	} {
		p := compileAny(t, strings.Replace(validatingPolicy, "variables.tagged, m", `"`+function+`", m`, 1))
		if p.Problem() != nil {
			t.Errorf("%s: %v", function, p.Problem())
			continue
		}
		wantError(t, p, subject(t, goodPod), "", cause)
	}
}

// TestJSONMode promises that a policy for JSON documents says nothing about resources.
func TestJSONMode(t *testing.T) {
	t.Parallel()
	p := compile(t, strings.Replace(validatingPolicy, "spec:\n", "spec:\n  evaluation: {mode: JSON}\n", 1))
	want(t, p, subject(t, badPod))
	if len(p.Targets()) != 0 || p.Background() {
		t.Errorf("targets %v, background %v", p.Targets(), p.Background())
	}
}
