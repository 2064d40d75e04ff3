// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaCreates = "Creating"

	// clockSlack is how far the clock of a server may be off: the rule is not about clocks.
	clockSlack = 24 * time.Hour
)

func hasNamespaces(resource *runner.Resource) string {
	if !resource.Namespaced {
		return "the resource has no namespaces"
	}
	return ""
}

var creates = []runner.Check{
	{
		ID: "create-status-code", Area: areaCreates, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "POST that creates an object returns 201.",
		Detail:    "Creates an object. Only the code is checked.",
		Reference: apiConventions + "#success-codes",
		Run:       func(p *runner.Probe) { p.Send(runner.Post(p.Collection(), p.New())).Want(http.StatusCreated) },
	},
	{
		ID: "create-answer", Area: areaCreates, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "POST returns the object that was created.",
		Detail:    "Creates an object. The answer must have its kind, apiVersion, name, and namespace.",
		Reference: apiConventions + "#resources",
		Run: func(p *runner.Probe) {
			object := p.New()
			wantIdentity(p, p.Prepare("create an object", runner.Post(p.Collection(), object)), object.GetName())
		},
	},
	{
		ID: "create-metadata", Area: areaCreates, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "The server gives a new object a uid, a creationTimestamp, and a resourceVersion.",
		Detail:    "The time must be in RFC 3339 format and at most a day off. There must be no selfLink, which Kubernetes has removed.",
		Reference: apiConventions + "#metadata",
		Run: func(p *runner.Probe) {
			made := p.New()
			p.Prepare("create an object", runner.Post(p.Collection(), made))
			response := p.Prepare("read the object", runner.Get(p.Path(made.GetName())))
			object := response.JSON()
			for _, field := range []string{"uid", "creationTimestamp", "resourceVersion"} {
				if value := metadataOf(object, field); len(value) <= len(`""`) || value[0] != '"' {
					response.Fail("an object with a metadata.%s", field)
				}
			}
			text, _, _ := unstructured.NestedString(object, "metadata", "creationTimestamp")
			created, err := time.Parse(time.RFC3339, text)
			if err != nil {
				response.FailBecause(err.Error(), "a metadata.creationTimestamp in RFC 3339 format")
			}
			if age := time.Since(created); age.Abs() > clockSlack {
				response.FailBecause(fmt.Sprintf("it is %s off", age.Round(time.Second)), "a metadata.creationTimestamp of now")
			}
			if link := metadataOf(object, "selfLink"); link != "" {
				response.Fail("an object without metadata.selfLink")
			}
		},
	},
	{
		ID: "create-read-only-metadata", Area: areaCreates, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "The server sets the uid and the creationTimestamp of a new object itself, whatever the client sends.",
		Detail:    "Creates an object with both and reads it. The server may also refuse it.",
		Reference: apiConventions + "#metadata",
		Run: func(p *runner.Probe) {
			sent := map[string]string{"uid": "11111111-2222-4333-8444-555555555555", "creationTimestamp": "2001-02-03T04:05:06Z"}
			object := p.New()
			for field, value := range sent {
				if err := unstructured.SetNestedField(object.Object, value, "metadata", field); err != nil {
					runner.Stop(fmt.Errorf("set metadata.%s: %w", field, err))
				}
			}
			response := p.Send(runner.Post(p.Collection(), object))
			if declined(response) {
				return
			}
			response.WantOK()
			read := p.Read(object.GetName())
			for field, value := range sent {
				if metadataOf(read.Object, field) == fmt.Sprintf("%q", value) {
					response.FailBecause("the object has the value of the client", "that the server sets metadata.%s itself", field)
				}
			}
		},
	},
	{
		ID: "create-generate-name", Area: areaCreates, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "An object with metadata.generateName and no name gets a unique name that begins with it.",
		Detail:    "Creates two objects. Both must exist under the names in the answers, which must differ.",
		Reference: "https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values",
		Run: func(p *runner.Probe) {
			prefix, first := p.Name()+"-", ""
			for range 2 {
				object := p.New()
				object.SetName("")
				object.SetGenerateName(prefix)
				response := p.Send(runner.Post(p.Collection(), object)).WantOK()
				answer := response.JSON()
				name := (&unstructured.Unstructured{Object: answer}).GetName()
				if !strings.HasPrefix(name, prefix) || name == prefix {
					response.Fail("an object whose name begins with %s and is longer", prefix)
				}
				if name == first {
					response.Fail("a name other than the first object's")
				}
				first = name
				wantExists(p, response, name, "the name that the object has")
			}
		},
	},
	{
		ID: "create-without-namespace", Area: areaCreates, PerResource: true, Verbs: []string{"create", "get"}, Applies: hasNamespaces,
		Rule:      "An object without a namespace gets the one in the URL.",
		Detail:    "The object must exist there.",
		Reference: apiConventions + "#resources",
		Run: func(p *runner.Probe) {
			object := p.New()
			object.SetNamespace("")
			response := p.Send(runner.Post(p.Collection(), object)).WantOK()
			wantExists(p, response, object.GetName(), "an object in the namespace in the URL")
		},
	},
	{
		ID: "create-already-exists", Area: areaCreates, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "POST of an object whose name is taken gets 409 and a Status with reason AlreadyExists.",
		Detail:    "Posts the same object twice. The Status must name it in details.name.",
		Reference: apiConventions + "#idempotency",
		Run: func(p *runner.Probe) {
			object := p.New()
			p.Prepare("create an object", runner.Post(p.Collection(), object))
			wantNamed(p.Send(runner.Post(p.Collection(), object)).WantStatus(metav1.StatusReasonAlreadyExists, http.StatusConflict), object.GetName())
		},
	},
	{
		ID: "create-invalid-name", Area: areaCreates, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "An invalid name gets 422 and a Status that names the field metadata.name.",
		Detail:    "Posts a name that is not a DNS name. If the kind allows that, posts one with a %, which no kind allows.",
		Reference: "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names",
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
	},
	{
		ID: "create-invalid-label", Area: areaCreates, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "Malformed labels get 422 and a Status that names the field metadata.labels.",
		Detail:    "Posts a malformed label value and a malformed label key.",
		Reference: "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set",
		Run: invalid("metadata.labels", setLabel("not a value!"), func(object *unstructured.Unstructured) {
			labels := object.GetLabels()
			labels["not a key!"] = "value"
			object.SetLabels(labels)
		}),
	},
	{
		ID: "create-invalid-annotation", Area: areaCreates, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "Malformed annotation keys get 422 and a Status that names the field metadata.annotations.",
		Detail:    "Posts an object with a malformed annotation key.",
		Reference: "https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/#syntax-and-character-set",
		Run: invalid("metadata.annotations", func(object *unstructured.Unstructured) {
			object.SetAnnotations(map[string]string{"not a key!": "value"})
		}),
	},
	{
		ID: "create-namespace-mismatch", Area: areaCreates, PerResource: true, Verbs: []string{"create", "get"}, Applies: hasNamespaces,
		Rule:      "An object whose namespace is not the one in the URL gets 400.",
		Detail:    "Posts an object that names another namespace.",
		Reference: apiConventions + "#error-codes",
		Run: func(p *runner.Probe) {
			object := p.New()
			object.SetNamespace(p.Name())
			p.Send(runner.Post(p.Collection(), object)).WantStatus(metav1.StatusReasonBadRequest, http.StatusBadRequest)
		},
	},
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
