// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/conformance/runner"
)

const (
	areaBodies = "Bodies and media types"

	mediaTypesDoc = "https://kubernetes.io/docs/reference/using-api/api-concepts/#alternate-representations-of-resources"

	// hugeBytes is more than servers take: Kubernetes takes 3 MiB, and 256 KiB of annotations.
	hugeBytes = 17 << 20
)

var bodies = []runner.Check{
	{
		ID: "body-malformed", Area: areaBodies, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "Malformed JSON gets 400 and a Status with reason BadRequest.",
		Detail:    "Posts half an object.",
		Reference: codesDoc,
		Run: func(p *runner.Probe) {
			data := runner.Must(json.Marshal(p.New()))
			p.Send(runner.Post(p.Collection(), data[:len(data)/2])).WantStatus(metav1.StatusReasonBadRequest, http.StatusBadRequest)
		},
	},
	{
		ID: "body-empty", Area: areaBodies, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "A POST without a body gets 400 and a Status.",
		Detail:    "422 is accepted, too; 5xx would make clients retry.",
		Reference: codesDoc,
		Run: func(p *runner.Probe) {
			p.Send(runner.Post(p.Collection(), []byte{})).WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
		},
	},
	{
		ID: "body-wrong-kind", Area: areaBodies, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "An object whose kind or group is not the resource's gets 400 and a Status, and is not stored.",
		Detail:    "422 is accepted, too. Objects without kind or apiVersion are not tried: some servers accept them.",
		Reference: codesDoc,
		Run: func(p *runner.Probe) {
			kind, group := p.New(), p.New()
			kind.SetKind("Not" + p.Resource.Kind)
			group.SetAPIVersion("other.conformance.docket.dev/" + p.GroupVersion.Version)
			for _, object := range []interface {
				json.Marshaler
				GetName() string
			}{kind, group} {
				response := p.Send(runner.Post(p.Collection(), object)).WantStatus("", http.StatusBadRequest, http.StatusUnprocessableEntity)
				wantNotStored(p, response, object.GetName())
			}
		},
	},
	{
		ID: "body-too-large", Area: areaBodies, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "A body that is far too large gets 413 and a Status, and is not stored.",
		Detail:    fmt.Sprintf("Posts an object with an annotation of %d MiB. Servers that accept bodies of this size must refuse the annotation with 422 or 400; others may close the connection.", hugeBytes>>20),
		Reference: "https://pkg.go.dev/k8s.io/apimachinery/pkg/apis/meta/v1#StatusReason",
		Run: func(p *runner.Probe) {
			object := p.New()
			addNotes(object, noteOne, strings.Repeat("x", hugeBytes))
			response := sendRefusable(p, runner.Post(p.Collection(), object))
			if response == nil {
				if p.Exists(object.GetName()) {
					runner.Stop(&runner.Failure{Expected: "that nothing is stored of a body that is too large", Found: "the connection broke, and there is an object " + object.GetName()})
				}
				return
			}
			response.WantStatus("", http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusBadRequest)
			wantNotStored(p, response, object.GetName())
		},
	},
	{
		ID: "content-type-unknown", Area: areaBodies, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "A body of an unknown media type gets 415 and a Status with reason UnsupportedMediaType, and is not stored.",
		Detail:    "Posts an object as text/plain.",
		Reference: mediaTypesDoc,
		Run: func(p *runner.Probe) {
			object := p.New()
			response := p.Send(runner.Post(p.Collection(), object).With("Content-Type", "text/plain")).WantStatus(metav1.StatusReasonUnsupportedMediaType, http.StatusUnsupportedMediaType)
			wantNotStored(p, response, object.GetName())
		},
	},
	{
		ID: "accept-unknown", Area: areaBodies, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "A client that accepts only unknown media types gets 406 and a Status with reason NotAcceptable.",
		Detail:    "Gets an object as text/unknown.",
		Reference: mediaTypesDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			p.Send(accepting(p, name, "text/unknown")).WantStatus(metav1.StatusReasonNotAcceptable, http.StatusNotAcceptable)
		},
	},
	{
		ID: "accept-protobuf", Area: areaBodies, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "A client that accepts several media types gets one that the server supports: JSON if it does not support protocol buffers.",
		Detail:    "Gets an object as Kubernetes controllers do: as protocol buffers, or else JSON. Either will do.",
		Reference: mediaTypesDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			response := p.Send(accepting(p, name, protobufType+", "+runner.JSON))
			if !response.OK() || mediaTypeOf(response) != protobufType {
				wantJSON(response)
				return
			}
			if !strings.HasPrefix(string(response.Body), protobufStart) {
				response.Fail("a body of the type %s begins with the bytes 6b 38 73 00", protobufType)
			}
		},
	},
	{
		ID: "json-default", Area: areaBodies, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "A client that accepts any media type, or doesn't say which, gets JSON.",
		Detail:    "Gets an object without an Accept header, and with */*.",
		Reference: mediaTypesDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			for _, accept := range []string{"", "*/*"} {
				wantJSON(p.Send(accepting(p, name, accept)))
			}
		},
	},
	{
		ID: "yaml-in", Area: areaBodies, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "Objects can be sent as YAML.",
		Detail:    "Posts an object as application/yaml.",
		Reference: mediaTypesDoc,
		Run: func(p *runner.Probe) {
			object := p.New()
			addNotes(object, noteOne, "yes")
			data := runner.Must(yaml.JSONToYAML(runner.Must(json.Marshal(object))))
			response := p.Send(runner.Post(p.Collection(), data).With("Content-Type", runner.YAML)).WantOK()
			wantExists(p, response, object.GetName(), "that the object exists afterwards")
			wantNotes(p, response, object.GetName(), noteOne, "yes")
		},
	},
	{
		ID: "yaml-out", Area: areaBodies, PerResource: true, Verbs: []string{"create", "get"},
		Rule:      "A client that accepts application/yaml gets the object as YAML, with the same content.",
		Detail:    "Gets an object as JSON and as YAML. Tries several times.",
		Reference: mediaTypesDoc,
		Run: func(p *runner.Probe) {
			name := makeNoted(p, noteOne, "yes", noteTwo, "1")
			for try := 1; ; try++ {
				object := p.Read(name)
				response := p.Send(accepting(p, name, runner.YAML))
				wantMediaType(response, runner.YAML)
				var fields map[string]any
				switch err := yaml.Unmarshal(response.Body, &fields); {
				case err != nil || fields == nil:
					response.FailBecause(fmt.Sprintf("it can't be read: %v", err), "an object in YAML")
				case sameFields(object.Object, fields):
					return
				case try == attempts:
					response.FailBecause("it differs each of several times", "the object that is answered as JSON")
				}
			}
		},
	},
}

// wantJSON fails the check unless the answer is a success in JSON.
func wantJSON(response *runner.Response) {
	wantMediaType(response, runner.JSON)
	response.JSON()
}
