// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/runner"
)

func bodiesTypesRules() []runner.Check {
	return []runner.Check{acceptUnknown(), acceptProtobuf(), jsonDefault(), yamlIn(), yamlOut()}
}

func acceptUnknown() runner.Check {
	return runner.Check{
		ID: "accept-unknown", Area: areaBodies,
		Rule:        "A client that accepts only unknown media types gets 406 and a Status with reason NotAcceptable.",
		Detail:      "Gets an object as text/unknown.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			p.Send(accepting(p, name, "text/unknown")).WantStatus(metav1.StatusReasonNotAcceptable, http.StatusNotAcceptable)
		},
	}
}

func acceptProtobuf() runner.Check {
	return runner.Check{
		ID: "accept-protobuf", Area: areaBodies,
		Rule:        "A client that accepts several media types gets one that the server supports: JSON if it does not support protocol buffers.",
		Detail:      "Gets an object as Kubernetes controllers do: as protocol buffers, or else JSON. Either will do.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"},
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
	}
}

// wantJSON returns a failure unless the answer is a success in JSON.
func wantJSON(response *runner.Response) {
	wantMediaType(response, runner.JSON)
	response.JSON()
}

func jsonDefault() runner.Check {
	return runner.Check{
		ID: "json-default", Area: areaBodies,
		Rule:        "A client that accepts any media type, or doesn't say which, gets JSON.",
		Detail:      "Gets an object without an Accept header, and with */*.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			name := makeNoted(p)
			for _, accept := range []string{"", "*/*"} {
				wantJSON(p.Send(accepting(p, name, accept)))
			}
		},
	}
}

func yamlIn() runner.Check {
	return runner.Check{
		ID: "yaml-in", Area: areaBodies,
		Rule:        "Objects can be sent as YAML.",
		Detail:      "Posts an object as application/yaml.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			object := p.New()
			addNotes(object, noteOne, "yes")
			data := yamlOf(object)
			response := p.Send(runner.Post(p.Collection(), data).With("Content-Type", runner.YAML)).WantOK()
			wantExists(p, response, object.GetName(), "that the object exists afterwards")
			wantNotes(p, response, object.GetName(), noteOne, "yes")
		},
	}
}

func yamlOut() runner.Check {
	return runner.Check{
		ID: "yaml-out", Area: areaBodies,
		Rule:        "A client that accepts application/yaml gets the object as YAML, with the same content.",
		Detail:      "Gets an object as JSON and as YAML. Tries several times.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"},
		Run: func(p *runner.Probe) {
			name := makeNoted(p, noteOne, "yes", noteTwo, "1")
			for try := 1; ; try++ {
				object := p.Read(name)
				response := p.Send(accepting(p, name, runner.YAML))
				wantMediaType(response, runner.YAML)
				fields := readYAML(response)
				if sameFields(object.Object, fields) {
					return
				}
				if try == attempts {
					response.FailBecause("it differs each of several times", "the object that is answered as JSON")
				}
			}
		},
	}
}
