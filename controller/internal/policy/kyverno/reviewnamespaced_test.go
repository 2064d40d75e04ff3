// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// TestReviewOfANamespacedPolicy promises that a policy reviews its own namespace only.
func TestReviewOfANamespacedPolicy(t *testing.T) {
	t.Parallel()
	namespaced := func(text, name string) string {
		text = strings.Replace(text, "kind: ClusterPolicy\nmetadata: {name: p}", "kind: Policy\nmetadata: {name: p, namespace: "+name+"}", 1)
		text = strings.Replace(text, "kind: ValidatingPolicy\nmetadata: {name: v", "kind: NamespacedValidatingPolicy\nmetadata: {namespace: "+name+", name: v", 1)
		return text
	}
	for _, text := range []string{enginetest.Enforced, enginetest.ValidatingPolicy} {
		_, own := enginetest.Review(t, compile(t, namespaced(text, "team")), enginetest.Create(t, enginetest.BadPod))
		if len(own) != 1 {
			t.Errorf("own namespace: %v", own)
		}
		enginetest.WantVerdicts(t, compile(t, namespaced(text, "other")), enginetest.Create(t, enginetest.BadPod))
	}
	everything := "- name: r\n  match: {any: [{resources: {kinds: ['*']}}]}\n  validate: {message: m, deny: {}}\n"
	p := compile(t, namespaced(enginetest.Enforcing(enginetest.ClusterPolicy(everything)), "team"))
	enginetest.WantVerdicts(t, p, enginetest.Create(t, enginetest.ConfigMap), "r:fail!")
	enginetest.WantVerdicts(t, p, enginetest.Request(t, admissionv1.Update, enginetest.NamespaceObject, enginetest.NamespaceObject, enginetest.TeamWith(nil)))
}
