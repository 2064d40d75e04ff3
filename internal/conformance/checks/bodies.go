// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/conformance"
)

const (
	areaBodies = "Bodies and media types"

	mediaTypesDoc = "https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources"

	// hugeBytes is more than servers take: Kubernetes takes 3 MiB, and 256 KiB of annotations.
	hugeBytes = 17 << 20
)

func bodies() []conformance.Check {
	return append(refusedBodies(), mediaTypes()...)
}

func refusedBodies() []conformance.Check {
	verbs := []string{"create", "get"}
	return []conformance.Check{
		{
			ID: "body-malformed", Area: areaBodies,
			Rule:      "JSON that can't be read is answered with 400 and a Status whose reason is BadRequest.",
			Detail:    "Sends half of an object with a POST.",
			Reference: codesDoc, PerResource: true, Verbs: verbs,
			Run: bodyMalformed,
		},
		{
			ID: "body-empty", Area: areaBodies,
			Rule:      "A POST without a body is answered with 400 and a Status.",
			Detail:    "422 is as good; 5xx would have clients try again.",
			Reference: codesDoc, PerResource: true, Verbs: verbs,
			Run: bodyEmpty,
		},
		{
			ID: "body-wrong-kind", Area: areaBodies,
			Rule:      "An object of another kind or another group than the resource's is refused with 400 and a Status, and not stored.",
			Detail:    "Sends an object with another kind, and one with another apiVersion. 422 is as good. Objects without them are not sent: some servers take them.",
			Reference: codesDoc, PerResource: true, Verbs: verbs,
			Run: bodyWrongKind,
		},
		{
			ID: "body-too-large", Area: areaBodies,
			Rule:      "A body that is far too large is refused with 413 and a Status, and not stored.",
			Detail:    fmt.Sprintf("Sends an object with an annotation of %d MiB. Servers that take such bodies refuse the annotation, with 422 or 400. Those that don't may break the connection.", hugeBytes>>20),
			Reference: "https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#StatusReason", PerResource: true, Verbs: verbs,
			Run: bodyTooLarge,
		},
		{
			ID: "content-type-unknown", Area: areaBodies,
			Rule:      "A body of an unknown type is refused with 415 and a Status whose reason is UnsupportedMediaType, and not stored.",
			Detail:    "Sends an object as text/plain.",
			Reference: mediaTypesDoc, PerResource: true, Verbs: verbs,
			Run: contentTypeUnknown,
		},
	}
}

func mediaTypes() []conformance.Check {
	verbs := []string{"create", "get"}
	return []conformance.Check{
		{
			ID: "accept-unknown", Area: areaBodies,
			Rule:      "A client that accepts only unknown types is answered with 406 and a Status whose reason is NotAcceptable.",
			Detail:    "Gets an object as text/unknown.",
			Reference: mediaTypesDoc, PerResource: true, Verbs: verbs,
			Run: acceptUnknown,
		},
		{
			ID: "accept-protobuf", Area: areaBodies,
			Rule:      "A client that accepts several types gets one that the server has: JSON if it has no protocol buffers.",
			Detail:    "Gets an object as controllers of Kubernetes do: as protocol buffers, or else JSON. Either is right.",
			Reference: mediaTypesDoc, PerResource: true, Verbs: verbs,
			Run: acceptProtobuf,
		},
		{
			ID: "json-default", Area: areaBodies,
			Rule:      "A client that does not say which type it accepts, or accepts all, gets JSON.",
			Detail:    "Gets an object without Accept, and with */*.",
			Reference: mediaTypesDoc, PerResource: true, Verbs: verbs,
			Run: jsonDefault,
		},
		{
			ID: "yaml-in", Area: areaBodies,
			Rule:      "Objects can be sent as YAML.",
			Detail:    "Creates an object with a POST of the type application/yaml.",
			Reference: mediaTypesDoc, PerResource: true, Verbs: verbs,
			Run: yamlIn,
		},
		{
			ID: "yaml-out", Area: areaBodies,
			Rule:      "A client that accepts application/yaml gets the object as YAML, with the same content.",
			Detail:    "Gets an object as JSON and as YAML. It is tried several times, because others may change the object.",
			Reference: mediaTypesDoc, PerResource: true, Verbs: verbs,
			Run: yamlOut,
		},
	}
}

func bodyMalformed(ctx context.Context, p *conformance.Probe) error {
	data, err := json.Marshal(p.New())
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Post(p.Collection(), data[:len(data)/2]))
	if err != nil {
		return err
	}
	return response.WantStatus(metav1.StatusReasonBadRequest, http.StatusBadRequest)
}

func bodyEmpty(ctx context.Context, p *conformance.Probe) error {
	response, err := p.Send(ctx, conformance.Post(p.Collection(), []byte{}))
	if err != nil {
		return err
	}
	return response.WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
}

func bodyWrongKind(ctx context.Context, p *conformance.Probe) error {
	kind, group := p.New(), p.New()
	kind.SetKind("Not" + p.Resource.Kind)
	group.SetAPIVersion("other.conformance.docket.dev/" + p.GroupVersion.Version)
	for _, object := range []interface {
		json.Marshaler
		GetName() string
	}{kind, group} {
		response, err := p.Send(ctx, conformance.Post(p.Collection(), object))
		if err != nil {
			return err
		}
		if err := response.WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity); err != nil {
			return err
		}
		if err := wantNotStored(ctx, p, response, object.GetName()); err != nil {
			return err
		}
	}
	return nil
}

func bodyTooLarge(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	addNotes(object, noteOne, strings.Repeat("x", hugeBytes))
	response, err := sendRefusable(ctx, p, conformance.Post(p.Collection(), object))
	if err != nil {
		return err
	}
	if response == nil {
		exists, err := p.Exists(ctx, object.GetName())
		if err == nil && exists {
			err = &conformance.Failure{Expected: "that nothing is stored of a body that is too large", Found: "the connection broke, and there is an object " + object.GetName()}
		}
		return err
	}
	if err := response.WantStatus("", http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusBadRequest); err != nil {
		return err
	}
	return wantNotStored(ctx, p, response, object.GetName())
}

func contentTypeUnknown(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	response, err := p.Send(ctx, conformance.Post(p.Collection(), object).With("Content-Type", "text/plain"))
	if err != nil {
		return err
	}
	if err := response.WantStatus(metav1.StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType); err != nil {
		return err
	}
	return wantNotStored(ctx, p, response, object.GetName())
}

func acceptUnknown(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, accepting(p, name, "text/unknown"))
	if err != nil {
		return err
	}
	return response.WantStatus(metav1.StatusReasonNotAcceptable, http.StatusNotAcceptable)
}

func acceptProtobuf(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, accepting(p, name, protobufType+", "+conformance.JSON))
	if err != nil {
		return err
	}
	if !response.OK() || mediaTypeOf(response) != protobufType {
		return wantJSON(response)
	}
	if !strings.HasPrefix(string(response.Body), protobufStart) {
		return response.Fail("a body of the type %s begins with the bytes 6b 38 73 00", protobufType)
	}
	return nil
}

// wantJSON returns a failure unless the answer is a success in JSON.
func wantJSON(response *conformance.Response) error {
	if err := wantMediaType(response, conformance.JSON); err != nil {
		return err
	}
	_, err := response.JSON()
	return err
}

func jsonDefault(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p)
	if err != nil {
		return err
	}
	for _, accept := range []string{"", "*/*"} {
		response, err := p.Send(ctx, accepting(p, name, accept))
		if err != nil {
			return err
		}
		if err := wantJSON(response); err != nil {
			return err
		}
	}
	return nil
}

func yamlIn(ctx context.Context, p *conformance.Probe) error {
	object := p.New()
	addNotes(object, noteOne, "yes")
	data, err := yamlOf(object)
	if err != nil {
		return err
	}
	response, err := p.Send(ctx, conformance.Post(p.Collection(), data).With("Content-Type", conformance.YAML))
	if err != nil {
		return err
	}
	if err := response.WantOK(); err != nil {
		return err
	}
	exists, err := p.Exists(ctx, object.GetName())
	if err == nil && !exists {
		err = response.FailBecause("there is no object "+object.GetName(), "that the object exists afterwards")
	}
	if err != nil {
		return err
	}
	return wantNotes(ctx, p, response, object.GetName(), noteOne, "yes")
}

func yamlOut(ctx context.Context, p *conformance.Probe) error {
	name, err := makeNoted(ctx, p, noteOne, "yes", noteTwo, "1")
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		object, err := p.Read(ctx, name)
		if err != nil {
			return err
		}
		response, err := p.Send(ctx, accepting(p, name, conformance.YAML))
		if err != nil {
			return err
		}
		if err := wantMediaType(response, conformance.YAML); err != nil {
			return err
		}
		fields, err := readYAML(response)
		if err != nil {
			return err
		}
		if sameFields(object.Object, fields) {
			return nil
		}
		if try == attempts {
			return response.FailBecause("it differs, and that each of several times", "the object that is answered as JSON")
		}
	}
}
