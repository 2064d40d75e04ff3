// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

func TestExceptionOfClassicPolicy(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v2", "v2beta1"} {
		p := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), strings.Replace(enginetest.Exception, "kyverno.io/v2", "kyverno.io/"+version, 1))
		results := enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:skip")
		if !strings.Contains(results[0].Message, "team/e") {
			t.Errorf("message %q does not name the exception", results[0].Message)
		}
		enginetest.WantEqual(t, "properties", map[string]string{"exceptions": "e"}, results[0].Properties)
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadDeployment), "autogen-r:skip")
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadCronJob), "autogen-cronjob-r:fail")
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod), "r:pass")
	}
}

// TestExceptionOfOthers promises that an exception is for the policies that it names, whose
// namespace is part of the name.
func TestExceptionOfOthers(t *testing.T) {
	t.Parallel()
	cluster := enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged))
	namespaced := strings.Replace(cluster, "kind: ClusterPolicy\nmetadata: {name: p}", "kind: Policy\nmetadata: {name: p, namespace: team}", 1)
	enginetest.Want(t, compile(t, namespaced, enginetest.Exception), enginetest.Subject(t, enginetest.BadPod), "r:fail")
	forNamespaced := strings.Replace(enginetest.Exception, "policyName: p", "policyName: team/p", 1)
	enginetest.Want(t, compile(t, namespaced, forNamespaced), enginetest.Subject(t, enginetest.BadPod), "r:skip")
	enginetest.Want(t, compile(t, cluster, forNamespaced, enginetest.CELException), enginetest.Subject(t, enginetest.BadPod), "r:fail")
	enginetest.Want(t, compile(t, enginetest.ValidatingPolicy, enginetest.Exception), enginetest.Subject(t, enginetest.BadPod), ":fail")
}

func TestExceptionWithConditionAndNamespace(t *testing.T) {
	t.Parallel()
	text := enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged))
	conditional := enginetest.Exception + "  conditions: {any: [{key: \"{{ request.object.metadata.namespace }}\", operator: Equals, value: elsewhere}]}\n"
	enginetest.Want(t, compile(t, text, conditional), enginetest.Subject(t, enginetest.BadPod), "r:fail")

	selecting := strings.Replace(enginetest.Exception, "names: [bad]", "namespaceSelector: {matchLabels: {env: test}}", 1)
	p, s := compile(t, text, selecting), enginetest.Subject(t, enginetest.BadPod)
	enginetest.Want(t, p, s, "r:fail")
	s.NamespaceLabels = map[string]string{"env": "test"}
	enginetest.Want(t, p, s, "r:skip")
}

func TestPodSecurityException(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.ClusterPolicy(enginetest.PodRule(`validate: {podSecurity: {level: baseline, version: latest}}`)),
		enginetest.Exception+"  podSecurity: [{controlName: Privileged Containers, images: [\"*\"]}]\n")
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:skip")
}

func TestExceptionOfCELPolicy(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		text := strings.Replace(enginetest.CELException, "policies.kyverno.io/v1", "policies.kyverno.io/"+version, 1)
		p := compile(t, enginetest.ValidatingPolicy, text)
		results := enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "exception:skip")
		enginetest.WantEqual(t, "message", "rule is skipped due to policy exception: team/e", results[0].Message)
		enginetest.WantEqual(t, "properties", map[string]string{"exceptions": "e"}, results[0].Properties)
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod), ":pass")
		enginetest.Want(t, compile(t, enginetest.ValidatingPolicy, text+"  reportResult: pass\n"), enginetest.Subject(t, enginetest.BadPod), "exception:pass")
	}
	other := strings.Replace(enginetest.CELException, "kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy", 1)
	enginetest.Want(t, compile(t, enginetest.ValidatingPolicy, other), enginetest.Subject(t, enginetest.BadPod), ":fail")
}

// TestExpiredException promises that compiling again ends an exception.
func TestExpiredException(t *testing.T) {
	t.Parallel()
	for outcome, at := range map[string]time.Time{":fail": time.Now().Add(-time.Minute), "exception:skip": time.Now().Add(time.Hour)} {
		enginetest.Want(t, compile(t, enginetest.ValidatingPolicy, enginetest.CELException+"  expiresAt: \""+at.Format(time.RFC3339)+"\"\n"), enginetest.Subject(t, enginetest.BadPod), outcome)
	}
}

func TestBrokenExceptions(t *testing.T) {
	t.Parallel()
	classic := compileAny(t, enginetest.ClusterPolicy(enginetest.PodRule(enginetest.Unprivileged)), strings.Replace(enginetest.Exception, "match: {any: [", "match: {any: 7, all: [", 1))
	enginetest.WantError(t, classic, enginetest.Subject(t, enginetest.BadPod), "r", "spec.match.any")
	cel := compileAny(t, enginetest.ValidatingPolicy, strings.Replace(enginetest.CELException, "== 'bad'", "== ", 1))
	enginetest.WantError(t, cel, enginetest.Subject(t, enginetest.BadPod), "", "Syntax error")
}
