// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// from puts an exception into a namespace.
func from(namespace, text string) string {
	return strings.Replace(text, "namespace: team}", "namespace: "+namespace+"}", 1)
}

// TestExceptionsOfNamespaces: by default no exception counts; those of the namespaces that are named do,
// and for a policy in a namespace only those beside it. What is ignored says so, once.
func TestExceptionsOfNamespaces(t *testing.T) {
	t.Parallel()
	cluster := enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged))
	own := strings.Replace(enginetest.Exception, "policyName: p", "policyName: team/p", 1)
	celOwn := strings.Replace(enginetest.CELException, "kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy", 1)
	namespacedCEL := strings.Replace(strings.Replace(enginetest.ValidatingPolicy, "kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy", 1), "metadata: {", "metadata: {namespace: team, ", 1)
	for _, test := range []struct {
		policy, exception string
		allowed           []string
		outcome, reason   string
	}{
		{cluster, enginetest.Exception, nil, "r:fail", policy.ExceptionNamespace},
		{cluster, enginetest.Exception, []string{"other"}, "r:fail", policy.ExceptionNamespace},
		{cluster, enginetest.Exception, []string{"other", "team"}, "r:skip", ""},
		{cluster, enginetest.Exception, []string{"*"}, "r:skip", ""},
		{enginetest.InTeam(cluster), own, nil, "r:fail", policy.ExceptionNamespace},
		{enginetest.InTeam(cluster), own, []string{"team"}, "r:skip", ""},
		{enginetest.InTeam(cluster), from("other", own), []string{"*"}, "r:fail", policy.ExceptionForeign},
		{enginetest.ValidatingPolicy, enginetest.CELException, nil, ":fail", policy.ExceptionNamespace},
		{enginetest.ValidatingPolicy, enginetest.CELException, []string{"team"}, "exception:skip", ""},
		{namespacedCEL, celOwn, []string{"*"}, "exception:skip", ""},
		{namespacedCEL, from("other", celOwn), []string{"*"}, ":fail", ""}, // It is about a policy in its own namespace.
	} {
		c := testkit.Must(NewCompiler(base.Config{ExceptionNamespaces: test.allowed}))(t)
		p := c.Compile(enginetest.Object(t, test.policy), []*unstructured.Unstructured{enginetest.Object(t, test.exception)})
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), test.outcome)
		wantIgnored(t, p, test.reason)
	}
}

func wantIgnored(t *testing.T, p policy.Policy, reason string) {
	t.Helper()
	ignored := policy.IgnoredExceptions(p)
	switch {
	case reason == "" && len(ignored) > 0:
		t.Errorf("%s: %+v", p.Identity(), ignored)
	case reason != "" && (len(ignored) != 1 || ignored[0].Reason != reason || ignored[0].Message == "" || ignored[0].Exception.Name != "e"):
		t.Errorf("%s: %+v, want %s", p.Identity(), ignored, reason)
	}
}

// TestExceptionsAskNothing: a match condition has the object and the request, and no way to ask for
// more with the rights of the controller. One that tries does not count, and does no harm to the policy.
func TestExceptionsAskNothing(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		"resource.Get('v1', 'configmaps', 'other', 'settings').data.deny == object.metadata.name || true",
		"http.Get('http://127.0.0.1:1/').statusCode == 200 || true",
		"globalContext.Get('settings', '') != null || true",
		".resource.List('v1', 'secrets', '').items.size() > 0 || true",
		"[1].all(x, resource.ToGVR('v1', 'Pod').Resource == 'pods') || true",
	} {
		text := strings.Replace(enginetest.CELException, "object.metadata.name == 'bad'", expression, 1)
		p := compile(t, enginetest.ValidatingPolicy, text)
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), ":fail")
		wantIgnored(t, p, policy.ExceptionReach)
	}
	p := compile(t, enginetest.ValidatingPolicy, strings.Replace(enginetest.CELException, "object.metadata.name == 'bad'", "object.metadata.?resource.orValue('http') == 'http'", 1))
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "exception:skip")
	wantIgnored(t, p, "")
}
