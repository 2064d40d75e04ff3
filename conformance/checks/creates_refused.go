// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

func createsRefusedRules() []runner.Check {
	return []runner.Check{createAlreadyExists(), createInvalidName(), createInvalidLabel(), createInvalidAnnotation(), createNamespaceMismatch()}
}

func createAlreadyExists() runner.Check {
	return runner.Check{
		ID: "create-already-exists", Area: areaCreates,
		Rule:        "POST of an object whose name is taken gets 409 and a Status with reason AlreadyExists.",
		Detail:      "Posts the same object twice. The Status must name it in details.name.",
		Reference:   apiConventions + "#idempotency",
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			object := p.New()
			p.Prepare("create an object", runner.Post(p.Collection(), object))
			response := p.Send(runner.Post(p.Collection(), object)).WantStatus(metav1.StatusReasonAlreadyExists, http.StatusConflict)
			if status, _ := response.Status(); status.Details == nil || status.Details.Name != object.GetName() {
				response.Fail("a Status whose details.name is %q", object.GetName())
			}
		},
	}
}

func createInvalidName() runner.Check {
	return runner.Check{
		ID: "create-invalid-name", Area: areaCreates,
		Rule:        "An invalid name gets 422 and a Status that names the field metadata.name.",
		Detail:      "Posts a name that is not a DNS name. If the kind allows that, posts one with a %, which no kind allows.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names",
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			for _, suffix := range []string{"-Not_DNS", "%"} {
				object := p.New()
				object.SetName(object.GetName() + suffix)
				response := p.Send(runner.Post(p.Collection(), object))
				if !response.OK() || suffix == "%" {
					wantInvalid(response, "metadata.name")
					return
				}
			}
		},
	}
}

// invalid returns a check that sends objects with mistakes in a field, one each.
func invalid(field string, mistakes ...func(*unstructured.Unstructured)) func(*runner.Probe) {
	return func(p *runner.Probe) {
		for _, mistake := range mistakes {
			object := p.New()
			mistake(object)
			wantInvalid(p.Send(runner.Post(p.Collection(), object)), field)
		}
	}
}

func createInvalidLabel() runner.Check {
	return runner.Check{
		ID: "create-invalid-label", Area: areaCreates,
		Rule:        "Malformed labels get 422 and a Status that names the field metadata.labels.",
		Detail:      "Posts a malformed label value and a malformed label key.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set",
		PerResource: true, Verbs: []string{"create", "get"},
		Run: invalid("metadata.labels", setLabel("not a value!"), func(object *unstructured.Unstructured) {
			labels := object.GetLabels()
			labels["not a key!"] = "value"
			object.SetLabels(labels)
		}),
	}
}

func createInvalidAnnotation() runner.Check {
	return runner.Check{
		ID: "create-invalid-annotation", Area: areaCreates,
		Rule:        "Malformed annotation keys get 422 and a Status that names the field metadata.annotations.",
		Detail:      "Posts an object with a malformed annotation key.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/#syntax-and-character-set",
		PerResource: true, Verbs: []string{"create", "get"},
		Run: invalid("metadata.annotations", func(object *unstructured.Unstructured) {
			object.SetAnnotations(map[string]string{"not a key!": "value"})
		}),
	}
}

func createNamespaceMismatch() runner.Check {
	return runner.Check{
		ID: "create-namespace-mismatch", Area: areaCreates,
		Rule:        "An object whose namespace is not the one in the URL gets 400.",
		Detail:      "Posts an object that names another namespace.",
		Reference:   apiConventions + "#error-codes",
		PerResource: true, Verbs: []string{"create", "get"}, Applies: hasNamespaces,
		Run: func(p *runner.Probe) {
			object := p.New()
			object.SetNamespace(p.Name())
			p.Send(runner.Post(p.Collection(), object)).WantStatus(metav1.StatusReasonBadRequest, http.StatusBadRequest)
		},
	}
}
