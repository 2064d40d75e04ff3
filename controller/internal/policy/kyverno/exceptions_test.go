// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"
	"time"
)

func TestExceptionOfClassicPolicy(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v2", "v2beta1"} {
		p := compile(t, clusterPolicy(podRule(unprivileged)), strings.Replace(exception, "kyverno.io/v2", "kyverno.io/"+version, 1))
		results := want(t, p, subject(t, badPod), "r:skip")
		if !strings.Contains(results[0].Message, "team/e") {
			t.Errorf("message %q does not name the exception", results[0].Message)
		}
		wantEqual(t, "properties", map[string]string{"exceptions": "e"}, results[0].Properties)
		want(t, p, subject(t, badDeployment), "autogen-r:skip")
		want(t, p, subject(t, badCronJob), "autogen-cronjob-r:fail")
		want(t, p, subject(t, goodPod), "r:pass")
	}
}

// TestExceptionOfOthers promises that an exception is for the policies that it names, whose
// namespace is part of the name.
func TestExceptionOfOthers(t *testing.T) {
	t.Parallel()
	cluster := clusterPolicy(podRule(unprivileged))
	namespaced := strings.Replace(cluster, "kind: ClusterPolicy\nmetadata: {name: p}", "kind: Policy\nmetadata: {name: p, namespace: team}", 1)
	want(t, compile(t, namespaced, exception), subject(t, badPod), "r:fail")
	forNamespaced := strings.Replace(exception, "policyName: p", "policyName: team/p", 1)
	want(t, compile(t, namespaced, forNamespaced), subject(t, badPod), "r:skip")
	want(t, compile(t, cluster, forNamespaced, celException), subject(t, badPod), "r:fail")
	want(t, compile(t, validatingPolicy, exception), subject(t, badPod), ":fail")
}

func TestExceptionWithConditionAndNamespace(t *testing.T) {
	t.Parallel()
	text := clusterPolicy(podRule(unprivileged))
	conditional := exception + "  conditions: {any: [{key: \"{{ request.object.metadata.namespace }}\", operator: Equals, value: elsewhere}]}\n"
	want(t, compile(t, text, conditional), subject(t, badPod), "r:fail")

	selecting := strings.Replace(exception, "names: [bad]", "namespaceSelector: {matchLabels: {env: test}}", 1)
	p, s := compile(t, text, selecting), subject(t, badPod)
	want(t, p, s, "r:fail")
	s.NamespaceLabels = map[string]string{"env": "test"}
	want(t, p, s, "r:skip")
}

func TestPodSecurityException(t *testing.T) {
	t.Parallel()
	p := compile(t, clusterPolicy(podRule(`validate: {podSecurity: {level: baseline, version: latest}}`)),
		exception+"  podSecurity: [{controlName: Privileged Containers, images: [\"*\"]}]\n")
	want(t, p, subject(t, badPod), "r:skip")
}

func TestExceptionOfCELPolicy(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		text := strings.Replace(celException, "policies.kyverno.io/v1", "policies.kyverno.io/"+version, 1)
		p := compile(t, validatingPolicy, text)
		results := want(t, p, subject(t, badPod), "exception:skip")
		wantEqual(t, "message", "rule is skipped due to policy exception: team/e", results[0].Message)
		wantEqual(t, "properties", map[string]string{"exceptions": "e"}, results[0].Properties)
		want(t, p, subject(t, goodPod), ":pass")
		want(t, compile(t, validatingPolicy, text+"  reportResult: pass\n"), subject(t, badPod), "exception:pass")
	}
	other := strings.Replace(celException, "kind: ValidatingPolicy", "kind: NamespacedValidatingPolicy", 1)
	want(t, compile(t, validatingPolicy, other), subject(t, badPod), ":fail")
}

// TestExpiredException promises that compiling again ends an exception.
func TestExpiredException(t *testing.T) {
	t.Parallel()
	for outcome, at := range map[string]time.Time{":fail": time.Now().Add(-time.Minute), "exception:skip": time.Now().Add(time.Hour)} {
		want(t, compile(t, validatingPolicy, celException+"  expiresAt: \""+at.Format(time.RFC3339)+"\"\n"), subject(t, badPod), outcome)
	}
}

func TestBrokenExceptions(t *testing.T) {
	t.Parallel()
	classic := compileAny(t, clusterPolicy(podRule(unprivileged)), strings.Replace(exception, "match: {any: [", "match: {any: 7, all: [", 1))
	wantError(t, classic, subject(t, badPod), "r", "spec.match.any")
	cel := compileAny(t, validatingPolicy, strings.Replace(celException, "== 'bad'", "== ", 1))
	wantError(t, cel, subject(t, badPod), "", "Syntax error")
}
