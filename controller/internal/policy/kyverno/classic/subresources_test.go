// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// podBinding is what a scheduler sends to pods/binding.
const podBinding = `
apiVersion: v1
kind: Binding
metadata: {name: bad, namespace: team}
target: {apiVersion: v1, kind: Node, name: node-1}
`

// TestSubresources promises the table in docs/controller/admission.md: rules about pods are about each request that has
// the whole pod, and what has another object is for rules that name it.
func TestSubresources(t *testing.T) {
	t.Parallel()
	on := func(subresource string) *policy.Request {
		return enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.GoodPod, enginetest.Of(enginetest.Pods, subresource))
	}
	binding := enginetest.Request(t, admissionv1.Create, podBinding, "", enginetest.Of(enginetest.Pods, "binding"))
	bindings := enginetest.Create(t, podBinding)
	scale := enginetest.Request(t, admissionv1.Update, enginetest.Scale, enginetest.Scale,
		enginetest.Of(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "scale"))
	for _, test := range []struct {
		name string
		// kinds are those that the rule matches and excludes.
		kinds, excluded string
		request         *policy.Request
		asked           bool
	}{
		{"resize", "Pod", "", on("resize"), true},
		{"resize, in a version", "v1/Pod", "", on("resize"), true},
		{"resize, named", "Pod/resize", "", on("resize"), true},
		{"resize, any kind", `"*"`, "", on("resize"), true},
		{"resize, another kind", "Deployment", "", on("resize"), false},
		{"resize, excluded", "Pod", "Pod/resize", on("resize"), false},
		{"resize, pods excluded", `"*"`, "Pod", on("resize"), false},
		{"ephemeral containers", "Pod", "", on("ephemeralcontainers"), true},
		{"status", "Pod", "", on("status"), false},
		{"status, named", "Pod/status", "", on("status"), true},
		{"binding", "Pod", "", binding, false},
		{"binding, named", "Pod/binding", "", binding, true},
		{"bindings, named", "Binding", "", bindings, true},
		{"scale", "Deployment", "", scale, false},
		{"scale, named", "Deployment/scale", "", scale, true},
		{"scale, of any kind", `"*/scale"`, "", scale, true},
	} {
		text := enginetest.Enforcing(enginetest.ClusterPolicy(enginetest.PodRule("validate: {message: m, allowExistingViolations: false, deny: {}}")))
		match := "kinds: [" + test.kinds + "]}}]}"
		if test.excluded != "" {
			match += "\n    exclude: {any: [{resources: {kinds: [" + test.excluded + "]}}]}"
		}
		text = strings.Replace(text, "kinds: [Pod]}}]}", match, 1)
		p := compile(t, text)
		var want []string
		if test.asked {
			want = []string{"r:fail!"}
		}
		if _, got := enginetest.Review(t, p, test.request); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", test.name, got, want)
		}
	}
}

// TestResizeByExcepted: whom an exception lets create a pod may resize it.
func TestResizeByExcepted(t *testing.T) {
	t.Parallel()
	request := enginetest.Request(t, admissionv1.Update, enginetest.BadPod, enginetest.GoodPod, enginetest.Of(enginetest.Pods, "resize"))
	request.Kind = metav1.GroupVersionKind{Version: "v1", Kind: "Pod"}
	enginetest.WantVerdicts(t, compile(t, enginetest.Enforced), request, "r:fail!")
	enginetest.WantVerdicts(t, compile(t, enginetest.Enforced, enginetest.Exception), request, "r:skip")
}
