// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"bytes"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

func createsRefusedRules() []rule {
	return []rule{createAlreadyExists{}, createInvalidName{}, createInvalidLabel{}, createInvalidAnnotation{}, createNamespaceMismatch{}}
}

type createAlreadyExists struct{}

func (r createAlreadyExists) check() runner.Check {
	return runner.Check{
		ID: "create-already-exists", Area: areaCreates,
		Rule:        "POST of an object whose name is taken gets 409 and a Status with reason AlreadyExists.",
		Detail:      "Posts the same object twice. The Status must name it in details.name.",
		Reference:   apiConventions + "#idempotency",
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (createAlreadyExists) run(p *runner.Probe) {
	object := p.New()
	p.Prepare("create an object", runner.Post(p.Collection(), object))
	response := send(p, runner.Post(p.Collection(), object), status(metav1.StatusReasonAlreadyExists, http.StatusConflict))
	if status, _ := response.Status(); status.Details == nil || status.Details.Name != object.GetName() {
		response.Fail("a Status whose details.name is %q", object.GetName())
	}
}

func (createAlreadyExists) broken() broken.Server {
	return broken.That("answers Conflict instead of AlreadyExists", broken.OnAnswer(posts, func(_ *http.Request, a *broken.Answer) {
		if a.Code == http.StatusConflict {
			a.Edit(func(status map[string]any) { status["reason"] = "Conflict" })
		}
	}))
}

type createInvalidName struct{}

func (r createInvalidName) check() runner.Check {
	return runner.Check{
		ID: "create-invalid-name", Area: areaCreates,
		Rule:        "An invalid name gets 422 and a Status that names the field metadata.name.",
		Detail:      "Posts an object whose name is not a DNS name. If the kind allows that, as some do, posts one with a % in its name, which no kind allows.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names",
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (createInvalidName) run(p *runner.Probe) {
	for _, suffix := range []string{"-Not_DNS", "%"} {
		object := p.New()
		object.SetName(object.GetName() + suffix)
		response := p.Send(runner.Post(p.Collection(), object))
		if !response.OK() || suffix == "%" {
			wantInvalid(response, "metadata.name")
			return
		}
	}
}

func (createInvalidName) broken() broken.Server {
	return broken.That("answers 400 without details to names that are invalid", broken.OnAnswer(posts, func(_ *http.Request, a *broken.Answer) {
		if a.Code == http.StatusUnprocessableEntity && bytes.Contains(a.Body, []byte(`"field":"metadata.name"`)) {
			a.Status(http.StatusBadRequest, "BadRequest", "invalid name")
		}
	}))
}

// invalid returns a check that sends objects with mistakes in a field, one each.
func invalid(field string, mistakes ...func(*unstructured.Unstructured)) func(*runner.Probe) {
	return func(p *runner.Probe) {
		for _, mistake := range mistakes {
			object := p.New()
			mistake(object)
			response := p.Send(runner.Post(p.Collection(), object))
			wantInvalid(response, field)
		}
	}
}

type createInvalidLabel struct{}

func (createInvalidLabel) check() runner.Check {
	return runner.Check{
		ID: "create-invalid-label", Area: areaCreates,
		Rule:        "Malformed labels get 422 and a Status that names the field metadata.labels.",
		Detail:      "Posts an object with a malformed label value, and one with a malformed label key.",
		Reference:   "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set",
		PerResource: true, Verbs: []string{"create", "get"},
		Run: invalid("metadata.labels", setLabel("not a value!"), func(object *unstructured.Unstructured) {
			labels := object.GetLabels()
			labels["not a key!"] = "value"
			object.SetLabels(labels)
		}),
	}
}

func (createInvalidLabel) broken() broken.Server {
	return broken.That("leaves out labels that are invalid", broken.OnBody(posts, func(_ *http.Request, object map[string]any) bool {
		return dropInvalid(object, "labels", func(value string) bool { return len(validation.IsValidLabelValue(value)) == 0 })
	}))
}

// dropInvalid removes what is not valid from the labels or annotations of an object, and tells
// whether there was something.
func dropInvalid(object map[string]any, field string, isValid func(value string) bool) (dropped bool) {
	entries, ok := broken.FieldsOf(object, "metadata")[field].(map[string]any)
	if !ok {
		return false
	}
	for key, value := range entries {
		text, isText := value.(string)
		if isText && (len(validation.IsQualifiedName(key)) > 0 || !isValid(text)) {
			delete(entries, key)
			dropped = true
		}
	}
	return dropped
}

type createInvalidAnnotation struct{}

func (createInvalidAnnotation) check() runner.Check {
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

func (createInvalidAnnotation) broken() broken.Server {
	return broken.That("leaves out annotations that are invalid", broken.OnBody(posts, func(_ *http.Request, object map[string]any) bool {
		return dropInvalid(object, "annotations", func(string) bool { return true })
	}))
}

type createNamespaceMismatch struct{}

func (r createNamespaceMismatch) check() runner.Check {
	return runner.Check{
		ID: "create-namespace-mismatch", Area: areaCreates,
		Rule:        "An object whose namespace is not the one in the URL gets 400.",
		Detail:      "Posts an object that names another namespace.",
		Reference:   apiConventions + "#error-codes",
		PerResource: true, Verbs: []string{"create", "get"}, Applies: hasNamespaces, Run: r.run,
	}
}

func (createNamespaceMismatch) run(p *runner.Probe) {
	object := p.New()
	object.SetNamespace(p.Name())
	send(p, runner.Post(p.Collection(), object), status(metav1.StatusReasonBadRequest, http.StatusBadRequest))
}

func (createNamespaceMismatch) broken() broken.Server {
	return broken.That("creates objects in the namespace of the URL, whatever they say", broken.OnBody(posts, func(r *http.Request, object map[string]any) bool {
		metadata, namespace := broken.FieldsOf(object, "metadata"), any(broken.PlaceOf(r).Namespace)
		same := metadata["namespace"] == nil || metadata["namespace"] == namespace
		metadata["namespace"] = namespace
		return !same
	}))
}
