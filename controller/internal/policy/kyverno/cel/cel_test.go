// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

func TestValidatingPolicy(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		p := compile(t, strings.Replace(enginetest.ValidatingPolicy, "policies.kyverno.io/v1", "policies.kyverno.io/"+version, 1))
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod), ":pass")
		results := enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), ":fail")
		enginetest.WantEqual(t, "message", "bad has no tags", results[0].Message)
		enginetest.WantEqual(t, "properties", map[string]string{"seen": "yes", "cel.validationIndex": "0"}, results[0].Properties)
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadDeployment), ":fail")
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadCronJob), ":fail")
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.ConfigMap))
		// Those that a match condition leaves out are not reported.
		enginetest.Want(t, p, enginetest.Subject(t, strings.Replace(enginetest.BadPod, "namespace: team", "namespace: team, labels: {skip: now}", 1)))
	}
}

// TestResourceIsFound promises results for a subject whose caller does not know the resource.
func TestResourceIsFound(t *testing.T) {
	t.Parallel()
	s := enginetest.Subject(t, enginetest.BadPod)
	s.Resource.Resource = ""
	enginetest.Want(t, compile(t, enginetest.ValidatingPolicy), s, ":fail")
}

func TestRequestOfCELPolicies(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		"request.object.metadata.name == 'good'", "request.operation == 'CREATE' && request.namespace == 'team'",
		"request.resource.resource == 'pods' && request.name == object.metadata.name",
	} {
		p := compile(t, strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", `"`+expression+`", m`, 1))
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod), ":pass")
	}
}

func TestNamespaceOfCELPolicies(t *testing.T) {
	t.Parallel()
	p := compile(t, strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", `"namespaceObject.metadata.labels['env'] == 'prod'", m`, 1))
	s := enginetest.Subject(t, enginetest.GoodPod)
	s.NamespaceLabels = map[string]string{"env": "prod"}
	enginetest.Want(t, p, s, ":pass")
	s.NamespaceLabels = nil
	enginetest.WantError(t, p, s, "", "no such key")

	selecting := compile(t, strings.Replace(enginetest.ValidatingPolicy, "    resourceRules", "    namespaceSelector: {matchLabels: {env: prod}}\n    resourceRules", 1))
	enginetest.Want(t, selecting, s)
	s.NamespaceLabels = map[string]string{"env": "prod"}
	enginetest.Want(t, selecting, s, ":pass")
}

func TestNamespacedValidatingPolicy(t *testing.T) {
	t.Parallel()
	p := compile(t, strings.Replace(enginetest.ValidatingPolicy, "kind: ValidatingPolicy\nmetadata: {name: v}", "kind: NamespacedValidatingPolicy\nmetadata: {name: v, namespace: team}", 1))
	enginetest.WantEqual(t, "identity", policy.Identity{Kind: policy.NamespacedValidatingPolicy, Namespace: "team", Name: "v"}, p.Identity())
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), ":fail")
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadDeployment), ":fail")
	enginetest.Want(t, p, enginetest.Subject(t, strings.Replace(enginetest.BadPod, "namespace: team", "namespace: other", 1)))
}

func TestErrorsOfCELPolicies(t *testing.T) {
	t.Parallel()
	missing := compile(t, strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", "object.spec.nodeName == 'a', m", 1))
	enginetest.WantError(t, missing, enginetest.Subject(t, enginetest.GoodPod), "", "no such key: nodeName")
	for function, cause := range map[string]string{
		"resource.Get('v1', 'configmaps', 'team', 'c').data.x == 'y'":         "no cluster",
		"resource.List('v1', 'configmaps', 'team').items.size() == 0":         "no cluster",
		"globalContext.Get('entry', '') == null":                              "there is no context cache here",
		"image.GetMetadata('registry.test/web:1').config.architecture == 'x'": "registries are not asked",
	} {
		p := compileAny(t, strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", `"`+function+`", m`, 1))
		if p.Problem() != nil {
			t.Errorf("%s: %v", function, p.Problem())
			continue
		}
		enginetest.WantError(t, p, enginetest.Subject(t, enginetest.GoodPod), "", cause)
	}
}

// TestJSONMode promises that a policy for JSON documents says nothing about resources.
func TestJSONMode(t *testing.T) {
	t.Parallel()
	p := compile(t, strings.Replace(enginetest.ValidatingPolicy, "spec:\n", "spec:\n  evaluation: {mode: JSON}\n", 1))
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod))
	if len(p.Targets()) != 0 || p.Background() {
		t.Errorf("targets %v, background %v", p.Targets(), p.Background())
	}
}
