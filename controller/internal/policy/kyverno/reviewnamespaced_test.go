// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// TestReviewOfANamespacedPolicy promises that a policy reviews its own namespace only.
func TestReviewOfANamespacedPolicy(t *testing.T) {
	t.Parallel()
	namespaced := func(text, name string) string {
		text = strings.Replace(text, "kind: ClusterPolicy\nmetadata: {name: p}", "kind: Policy\nmetadata: {name: p, namespace: "+name+"}", 1)
		text = strings.Replace(text, "kind: ValidatingPolicy\nmetadata: {name: v", "kind: NamespacedValidatingPolicy\nmetadata: {namespace: "+name+", name: v", 1)
		return text
	}
	for _, text := range []string{enforced, validatingPolicy} {
		_, own := review(t, compile(t, namespaced(text, "team")), create(t, badPod))
		if len(own) != 1 {
			t.Errorf("own namespace: %v", own)
		}
		wantVerdicts(t, compile(t, namespaced(text, "other")), create(t, badPod))
	}
	everything := "- name: r\n  match: {any: [{resources: {kinds: ['*']}}]}\n  validate: {message: m, deny: {}}\n"
	p := compile(t, namespaced(enforcing(clusterPolicy(everything)), "team"))
	wantVerdicts(t, p, create(t, configMap), "r:fail!")
	wantVerdicts(t, p, request(t, admissionv1.Update, namespaceObject, namespaceObject, teamWith(nil)))
}
