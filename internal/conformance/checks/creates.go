// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/conformance"
)

const (
	areaCreates = "Creating"

	// clockSlack is how far the clock of a server may be off: the rule is not about clocks.
	clockSlack = 24 * time.Hour
)

func creates() []conformance.Check {
	list := append(createsDone(), createsRefused()...)
	for i := range list {
		list[i].Area, list[i].PerResource, list[i].Verbs = areaCreates, true, []string{"create", "get"}
	}
	return list
}

// createsDone are about objects that are created.
func createsDone() []conformance.Check {
	return []conformance.Check{
		{
			ID:        "create-status-code",
			Rule:      "POST that creates an object is answered with 201.",
			Detail:    "Makes an object. Only the code is looked at.",
			Reference: apiConventions + "#success-codes",
			Run:       createStatusCode,
		},
		{
			ID:        "create-answer",
			Rule:      "The answer to POST is the object that was created.",
			Detail:    "Makes an object. The answer has to have its kind, apiVersion, name, and namespace.",
			Reference: apiConventions + "#resources",
			Run:       createAnswer,
		},
		{
			ID:        "create-metadata",
			Rule:      "The server gives a new object a uid, a creationTimestamp, and a resourceVersion.",
			Detail:    "Makes an object and reads it. The time has to be one of RFC 3339 and not more than a day off. There must not be a selfLink, which Kubernetes has given up.",
			Reference: apiConventions + "#metadata",
			Run:       createMetadata,
		},
		{
			ID:        "create-read-only-metadata",
			Rule:      "The uid and the creationTimestamp of a new object are the server's, whatever the client sends.",
			Detail:    "Makes an object with both and reads it. The server may also refuse it.",
			Reference: apiConventions + "#metadata",
			Run:       createReadOnlyMetadata,
		},
		{
			ID:        "create-generate-name",
			Rule:      "An object with metadata.generateName and no name gets a name of its own that begins so.",
			Detail:    "Makes two objects with the same generateName. They have to exist by the names that are answered, which differ.",
			Reference: "https://kubernetes.io/docs/reference/using-api/api-concepts/#generated-values",
			Run:       createGenerateName,
		},
		{
			ID:        "create-without-namespace",
			Rule:      "An object without a namespace gets that of the URL.",
			Detail:    "Sends an object without a namespace. It has to exist in that of the URL.",
			Reference: apiConventions + "#resources",
			Applies:   hasNamespaces, Run: createWithoutNamespace,
		},
	}
}

// createsRefused are about objects that are not.
func createsRefused() []conformance.Check {
	return []conformance.Check{
		{
			ID:        "create-already-exists",
			Rule:      "POST of an object whose name is taken is answered with 409 and a Status whose reason is AlreadyExists.",
			Detail:    "Sends the same object twice. The Status has to name it in details.name.",
			Reference: apiConventions + "#idempotency",
			Run:       createAlreadyExists,
		},
		{
			ID:        "create-invalid-name",
			Rule:      "A name that the kind may not have is answered with 422 and a Status that names the field metadata.name.",
			Detail:    "Sends an object whose name is not one of DNS. If the kind allows it, as some do, then one with a % in its name, which no kind does.",
			Reference: "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#names",
			Run:       createInvalidName,
		},
		{
			ID:        "create-invalid-label",
			Rule:      "Labels that are against the syntax are answered with 422 and a Status that names the field metadata.labels.",
			Detail:    "Sends an object with a value of a label that is none, and one with a key that is none.",
			Reference: "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set",
			Run: invalid("metadata.labels", setLabel("not a value!"), func(object *unstructured.Unstructured) {
				labels := object.GetLabels()
				labels["not a key!"] = "value"
				object.SetLabels(labels)
			}),
		},
		{
			ID:        "create-invalid-annotation",
			Rule:      "Keys of annotations that are against the syntax are answered with 422 and a Status that names the field metadata.annotations.",
			Detail:    "Sends an object with an annotation whose key is none.",
			Reference: "https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/#syntax-and-character-set",
			Run: invalid("metadata.annotations", func(object *unstructured.Unstructured) {
				object.SetAnnotations(map[string]string{"not a key!": "value"})
			}),
		},
		{
			ID:        "create-namespace-mismatch",
			Rule:      "An object whose namespace is not that of the URL is answered with 400.",
			Detail:    "Sends an object that names another namespace.",
			Reference: apiConventions + "#error-codes",
			Applies:   hasNamespaces, Run: createNamespaceMismatch,
		},
	}
}

func hasNamespaces(resource *conformance.Resource) string {
	if !resource.Namespaced {
		return "the resource has no namespaces"
	}
	return ""
}

func createStatusCode(ctx context.Context, p *conformance.Probe) error {
	response, err := p.Send(ctx, conformance.Post(p.Collection(), p.New()))
	if err != nil {
		return err
	}
	return response.Want(http.StatusCreated)
}

func createAnswer(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	response, err := p.Prepare(ctx, "create an object", conformance.Post(p.Collection(), object))
	if err != nil {
		return err
	}
	return wantIdentity(p, response, object.GetName())
}

func createMetadata(ctx context.Context, p *conformance.Probe) error {
	object, response, err := makeAndGet(ctx, p, p.New())
	if err != nil {
		return err
	}
	for _, field := range []string{"uid", "creationTimestamp", "resourceVersion"} {
		if value := metadataOf(object, field); len(value) <= len(`""`) || value[0] != '"' {
			return response.Fail("an object with a metadata.%s", field)
		}
	}
	text, _, _ := unstructured.NestedString(object, "metadata", "creationTimestamp")
	created, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return response.FailBecause(err.Error(), "a metadata.creationTimestamp as RFC 3339 has it")
	}
	if age := time.Since(created); age.Abs() > clockSlack {
		return response.FailBecause(fmt.Sprintf("it is %s off", age.Round(time.Second)), "a metadata.creationTimestamp of now")
	}
	if link := metadataOf(object, "selfLink"); link != "" {
		return response.Fail("an object without metadata.selfLink")
	}
	return nil
}

// makeAndGet creates an object and returns it as the answer to a GET has it.
func makeAndGet(ctx context.Context, p *conformance.Probe, object *unstructured.Unstructured) (map[string]any, *conformance.Response, error) {
	if _, err := p.Prepare(ctx, "create an object", conformance.Post(p.Collection(), object)); err != nil {
		return nil, nil, err
	}
	response, err := p.Prepare(ctx, "read the object", conformance.Get(p.Path(object.GetName())))
	if err != nil {
		return nil, nil, err
	}
	read, err := response.JSON()
	return read, response, err
}

func createReadOnlyMetadata(ctx context.Context, p *conformance.Probe) error {
	sent := map[string]string{"uid": "11111111-2222-4333-8444-555555555555", "creationTimestamp": "2001-02-03T04:05:06Z"}
	object := p.New()
	for field, value := range sent {
		if err := unstructured.SetNestedField(object.Object, value, "metadata", field); err != nil {
			return fmt.Errorf("set metadata.%s: %w", field, err)
		}
	}
	response, err := p.Send(ctx, conformance.Post(p.Collection(), object))
	if err != nil || declined(response) {
		return err
	}
	if err := response.WantOK(); err != nil {
		return err
	}
	read, err := p.Read(ctx, object.GetName())
	if err != nil {
		return err
	}
	for field, value := range sent {
		if metadataOf(read.Object, field) == fmt.Sprintf("%q", value) {
			return response.FailBecause("the object has that of the client", "that the server sets metadata.%s itself", field)
		}
	}
	return nil
}

func createGenerateName(ctx context.Context, p *conformance.Probe) error {
	prefix, first := p.Name()+"-", ""
	for range 2 {
		object := p.New()
		object.SetName("")
		object.SetGenerateName(prefix)
		response, err := p.Send(ctx, conformance.Post(p.Collection(), object))
		if err != nil {
			return err
		}
		if err := response.WantOK(); err != nil {
			return err
		}
		answer, err := response.JSON()
		if err != nil {
			return err
		}
		name := (&unstructured.Unstructured{Object: answer}).GetName()
		if !strings.HasPrefix(name, prefix) || name == prefix {
			return response.Fail("an object whose name begins with %s and goes on", prefix)
		}
		if name == first {
			return response.Fail("another name than that of the first object")
		}
		first = name
		exists, err := p.Exists(ctx, name)
		if err != nil {
			return err
		}
		if !exists {
			return response.FailBecause("there is no object of that name", "the name that the object has")
		}
	}
	return nil
}

func createAlreadyExists(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	if _, err := p.Prepare(ctx, "create an object", conformance.Post(p.Collection(), object)); err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Post(p.Collection(), object))
	if err != nil {
		return err
	}
	if err := response.WantStatus(metav1.StatusReasonAlreadyExists, http.StatusConflict); err != nil {
		return err
	}
	if status, _ := response.Status(); status.Details == nil || status.Details.Name != object.GetName() {
		return response.Fail("a Status whose details.name is %q", object.GetName())
	}
	return nil
}

func createInvalidName(ctx context.Context, p *conformance.Probe) error {
	for _, suffix := range []string{"-Not_DNS", "%"} {
		object := p.New()
		object.SetName(object.GetName() + suffix)
		response, err := p.Send(ctx, conformance.Post(p.Collection(), object))
		if err != nil {
			return err
		}
		if !response.OK() || suffix == "%" {
			return wantInvalid(response, "metadata.name")
		}
	}
	return nil
}

// invalid returns a check that sends objects with mistakes in a field, one each.
func invalid(field string, mistakes ...func(*unstructured.Unstructured)) func(context.Context, *conformance.Probe) error {
	return func(ctx context.Context, p *conformance.Probe) error {
		for _, mistake := range mistakes {
			object := p.New()
			mistake(object)
			response, err := p.Send(ctx, conformance.Post(p.Collection(), object))
			if err != nil {
				return err
			}
			if err := wantInvalid(response, field); err != nil {
				return err
			}
		}
		return nil
	}
}

func createNamespaceMismatch(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	object.SetNamespace(p.Name())
	response, err := p.Send(ctx, conformance.Post(p.Collection(), object))
	if err != nil {
		return err
	}
	return response.WantStatus(metav1.StatusReasonBadRequest, http.StatusBadRequest)
}

func createWithoutNamespace(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	object.SetNamespace("")
	response, err := p.Send(ctx, conformance.Post(p.Collection(), object))
	if err != nil {
		return err
	}
	if err := response.WantOK(); err != nil {
		return err
	}
	exists, err := p.Exists(ctx, object.GetName())
	if err == nil && !exists {
		err = response.FailBecause("it is not there", "an object in the namespace of the URL")
	}
	return err
}
