// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// seesNamespace is true for the namespace of wholeNamespace: each part is one that its labels don't
// tell.
const seesNamespace = "namespaceObject.metadata.annotations['owner'] == 'a' && namespaceObject.metadata.labels['env'] == 'prod' && " +
	"namespaceObject.spec.finalizers == ['kubernetes'] && namespaceObject.status.phase == 'Active'"

func wholeNamespace() *corev1.Namespace {
	return &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "team", Labels: map[string]string{"env": "prod"}, Annotations: map[string]string{"owner": "a"},
		},
		Spec:   corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}},
		Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive},
	}
}

// TestNamespaceObject: the variable has the whole namespace, in the background and at admission, in
// policies in CEL, in rules that are compiled here, and in those that the engine evaluates. A
// question with has() would silently get another answer otherwise.
func TestNamespaceObject(t *testing.T) {
	t.Parallel()
	const rule = `validate: {cel: {expressions: [{expression: "EXPRESSION", message: Bad.}]}}`
	policies := map[string]string{
		"ValidatingPolicy": strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", `"EXPRESSION", m`, 1),
		"compiled rule":    enginetest.ClusterPolicy(enginetest.PodRule(rule)),
		"rule for engine":  enginetest.ClusterPolicy(enginetest.PodRule("reportProperties: {a: b}\n" + rule)),
	}
	for name, text := range policies {
		for _, expression := range []string{
			seesNamespace, "has(namespaceObject.metadata.annotations) && has(namespaceObject.status.phase)",
		} {
			p := compile(t, strings.Replace(text, "EXPRESSION", expression, 1))
			if !p.ReadsNamespace() {
				t.Errorf("%s: it does not say that it reads the namespace", name)
			}
			s := enginetest.Subject(t, enginetest.GoodPod)
			s.NamespaceLabels, s.NamespaceObject = wholeNamespace().Labels, wholeNamespace()
			if results, outcomes := enginetest.Evaluate(t, p, s); len(outcomes) != 1 || !strings.HasSuffix(outcomes[0], ":pass") {
				t.Errorf("%s in the background: %+v", name, results)
			}
			r := enginetest.Create(t, enginetest.GoodPod, enginetest.TeamWith(s.NamespaceLabels), func(r *policy.Request) { r.NamespaceObject = wholeNamespace() })
			if verdicts, outcomes := enginetest.Review(t, p, r); len(outcomes) != 1 || !strings.HasSuffix(outcomes[0], ":pass") {
				t.Errorf("%s at admission: %+v", name, verdicts)
			}
		}
	}
	if compile(t, enginetest.ClusterPolicy(enginetest.PodRule(`validate: {pattern: {metadata: {name: good}}}`))).ReadsNamespace() {
		t.Error("a pattern says that it reads the namespace")
	}
}
