// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaBodies = "Bodies and media types"

	mediaTypesDoc = "https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources"

	// hugeBytes is more than servers take: Kubernetes takes 3 MiB, and 256 KiB of annotations.
	hugeBytes = 17 << 20
)

func bodies() []rule {
	return slices.Concat([]rule{bodyMalformed{}, bodyEmpty{}, bodyWrongKind{}, bodyTooLarge{}, contentTypeUnknown{}}, bodiesTypesRules())
}

type bodyMalformed struct{}

func (r bodyMalformed) check() runner.Check {
	return runner.Check{
		ID: "body-malformed", Area: areaBodies,
		Rule:        "Malformed JSON gets 400 and a Status with reason BadRequest.",
		Detail:      "Posts half an object.",
		Reference:   codesDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (bodyMalformed) run(p *runner.Probe) {
	data := runner.Must(json.Marshal(p.New()))
	send(p, runner.Post(p.Collection(), data[:len(data)/2]), status(metav1.StatusReasonBadRequest, http.StatusBadRequest))
}

func (bodyMalformed) broken() broken.Server {
	return broken.That("answers 500 to bodies that are no JSON", broken.Instead(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if body := broken.BodyOf(r); len(body) == 0 || json.Valid(body) {
			next.ServeHTTP(w, r)
			return
		}
		broken.Refuse(w, http.StatusInternalServerError, "InternalError", "unexpected end of JSON input")
	}))
}

type bodyEmpty struct{}

func (r bodyEmpty) check() runner.Check {
	return runner.Check{
		ID: "body-empty", Area: areaBodies,
		Rule:        "A POST without a body gets 400 and a Status.",
		Detail:      "422 is accepted, too; 5xx would make clients retry.",
		Reference:   codesDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (bodyEmpty) run(p *runner.Probe) {
	send(p, runner.Post(p.Collection(), []byte{}), status("", http.StatusBadRequest, http.StatusUnprocessableEntity))
}

func (bodyEmpty) broken() broken.Server {
	return broken.That("answers 500 to empty bodies", broken.Instead(broken.Method(http.MethodPost, broken.Collection), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if len(broken.BodyOf(r)) > 0 {
			next.ServeHTTP(w, r)
			return
		}
		broken.Refuse(w, http.StatusInternalServerError, "InternalError", "no object")
	}))
}

type bodyWrongKind struct{}

func (r bodyWrongKind) check() runner.Check {
	return runner.Check{
		ID: "body-wrong-kind", Area: areaBodies,
		Rule:        "An object whose kind or group is not the resource's gets 400 and a Status, and is not stored.",
		Detail:      "Posts an object with another kind, and one with another apiVersion. 422 is accepted, too. Objects without kind or apiVersion are not tried: some servers accept them.",
		Reference:   codesDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (bodyWrongKind) run(p *runner.Probe) {
	kind, group := p.New(), p.New()
	kind.SetKind("Not" + p.Resource.Kind)
	group.SetAPIVersion("other.conformance.docket.dev/" + p.GroupVersion.Version)
	for _, object := range []interface {
		json.Marshaler
		GetName() string
	}{kind, group} {
		response := send(p, runner.Post(p.Collection(), object), status("", http.StatusBadRequest, http.StatusUnprocessableEntity))
		wantNotStored(p, response, object.GetName())
	}
}

func (bodyWrongKind) broken() broken.Server {
	return broken.That("does not look at the kind and the apiVersion of what it stores", broken.Instead(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		setKind(next, r)
		next.ServeHTTP(w, r)
	}))
}

// setKind makes the object that a request brings one of the kind that is created so.
func setKind(next http.Handler, r *http.Request) {
	var object map[string]any
	if json.Unmarshal(broken.BodyOf(r), &object) != nil || object == nil {
		return
	}
	apiVersion, kind := kindAt(next, r)
	if object["apiVersion"] == apiVersion && object["kind"] == kind {
		return // Encoded again, it would have no field twice.
	}
	object["apiVersion"], object["kind"] = apiVersion, kind
	if data, err := json.Marshal(object); err == nil {
		broken.SetBody(r, data)
	}
}

// kindAt returns what the objects are that are created with a request.
func kindAt(next http.Handler, r *http.Request) (apiVersion, kind string) {
	p := broken.PlaceOf(r)
	if p == nil {
		return "", ""
	}
	var list metav1.APIResourceList
	if json.Unmarshal(broken.Also(next, r, http.MethodGet, broken.GroupVersionPath(p), "", nil).Body, &list) != nil {
		return "", ""
	}
	for _, resource := range list.APIResources {
		if resource.Name == p.Resource {
			return list.GroupVersion, resource.Kind
		}
	}
	return "", ""
}

type bodyTooLarge struct{}

func (r bodyTooLarge) check() runner.Check {
	return runner.Check{
		ID: "body-too-large", Area: areaBodies,
		Rule:        "A body that is far too large gets 413 and a Status, and is not stored.",
		Detail:      fmt.Sprintf("Posts an object with an annotation of %d MiB. Servers that accept bodies of this size must refuse the annotation with 422 or 400; others may close the connection.", hugeBytes>>20),
		Reference:   "https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#StatusReason",
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (bodyTooLarge) run(p *runner.Probe) {
	object := p.New()
	addNotes(object, noteOne, strings.Repeat("x", hugeBytes))
	response := sendRefusable(p, runner.Post(p.Collection(), object))
	if response == nil {
		exists := p.Exists(object.GetName())
		if exists {
			runner.Stop(&runner.Failure{Expected: "that nothing is stored of a body that is too large", Found: "the connection broke, and there is an object " + object.GetName()})
		}
		return
	}
	response.WantStatus("", http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusBadRequest)
	wantNotStored(p, response, object.GetName())
}

func (bodyTooLarge) broken() broken.Server {
	return broken.That("answers 500 to large bodies", broken.Instead(broken.Method(http.MethodPost, broken.Collection), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if len(broken.BodyOf(r)) < broken.LargeBytes {
			next.ServeHTTP(w, r)
			return
		}
		broken.Refuse(w, http.StatusInternalServerError, "InternalError", "the database refuses it")
	}))
}

type contentTypeUnknown struct{}

func (r contentTypeUnknown) check() runner.Check {
	return runner.Check{
		ID: "content-type-unknown", Area: areaBodies,
		Rule:        "A body of an unknown media type gets 415 and a Status with reason UnsupportedMediaType, and is not stored.",
		Detail:      "Posts an object as text/plain.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (contentTypeUnknown) run(p *runner.Probe) {
	object := p.New()
	response := send(p, runner.Post(p.Collection(), object).With("Content-Type", "text/plain"), status(metav1.StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType))
	wantNotStored(p, response, object.GetName())
}

func (contentTypeUnknown) broken() broken.Server {
	return broken.That("takes bodies of all unknown types for JSON", broken.OnRequest(broken.Method(http.MethodPost, broken.Collection), func(r *http.Request) {
		if !broken.Sends(broken.JSONType, broken.YAMLType, broken.ProtobufType)(r) {
			r.Header.Set("Content-Type", broken.JSONType)
		}
	}))
}
