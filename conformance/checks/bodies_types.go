// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/runner"
)

func bodiesTypesRules() []rule {
	return []rule{acceptUnknown{}, acceptProtobuf{}, jsonDefault{}, yamlIn{}, yamlOut{}}
}

type acceptUnknown struct{}

func (r acceptUnknown) check() runner.Check {
	return runner.Check{
		ID: "accept-unknown", Area: areaBodies,
		Rule:        "A client that accepts only unknown media types gets 406 and a Status with reason NotAcceptable.",
		Detail:      "Gets an object as text/unknown.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (acceptUnknown) run(p *runner.Probe) {
	name := makeNoted(p)
	send(p, accepting(p, name, "text/unknown"), status(metav1.StatusReasonNotAcceptable, http.StatusNotAcceptable))
}

func (acceptUnknown) broken() broken.Server {
	return broken.That("answers JSON to clients that accept only unknown types", broken.OnRequest(broken.Method(http.MethodGet, broken.Single), func(r *http.Request) {
		known := func(name string) bool { return strings.Contains(r.Header.Get("Accept"), name) }
		if !slices.ContainsFunc([]string{"json", "yaml", "protobuf", "*"}, known) {
			r.Header.Set("Accept", broken.JSONType)
		}
	}))
}

type acceptProtobuf struct{}

func (r acceptProtobuf) check() runner.Check {
	return runner.Check{
		ID: "accept-protobuf", Area: areaBodies,
		Rule:        "A client that accepts several media types gets one that the server supports: JSON if it does not support protocol buffers.",
		Detail:      "Gets an object as Kubernetes controllers do: as protocol buffers, or else JSON. Either will do.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (acceptProtobuf) run(p *runner.Probe) {
	name := makeNoted(p)
	response := p.Send(accepting(p, name, protobufType+", "+runner.JSON))
	if !response.OK() || mediaTypeOf(response) != protobufType {
		wantJSON(response)
		return
	}
	if !strings.HasPrefix(string(response.Body), protobufStart) {
		response.Fail("a body of the type %s begins with the bytes 6b 38 73 00", protobufType)
	}
}

func (acceptProtobuf) broken() broken.Server {
	return broken.That("answers 406 to lists of types that begin with protocol buffers", broken.Instead(broken.Method(http.MethodGet, broken.Single), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		first, more, _ := strings.Cut(r.Header.Get("Accept"), ",")
		if first != broken.ProtobufType || more == "" {
			next.ServeHTTP(w, r)
			return
		}
		broken.Refuse(w, http.StatusNotAcceptable, "NotAcceptable", "only JSON is accepted")
	}))
}

// wantJSON returns a failure unless the answer is a success in JSON.
func wantJSON(response *runner.Response) {
	wantMediaType(response, runner.JSON)
	response.JSON()
}

type jsonDefault struct{}

func (r jsonDefault) check() runner.Check {
	return runner.Check{
		ID: "json-default", Area: areaBodies,
		Rule:        "A client that accepts any media type, or doesn't say which, gets JSON.",
		Detail:      "Gets an object without an Accept header, and with */*.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (jsonDefault) run(p *runner.Probe) {
	name := makeNoted(p)
	for _, accept := range []string{"", "*/*"} {
		response := p.Send(accepting(p, name, accept))
		wantJSON(response)
	}
}

func (jsonDefault) broken() broken.Server {
	return broken.That("answers YAML to clients that accept everything", broken.OnRequest(broken.Method(http.MethodGet, broken.Single), func(r *http.Request) {
		if accept := r.Header.Get("Accept"); accept == "" || accept == "*/*" {
			r.Header.Set("Accept", broken.YAMLType)
		}
	}))
}

type yamlIn struct{}

func (r yamlIn) check() runner.Check {
	return runner.Check{
		ID: "yaml-in", Area: areaBodies,
		Rule:        "Objects can be sent as YAML.",
		Detail:      "Posts an object as application/yaml.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (yamlIn) run(p *runner.Probe) {
	object := p.New()
	addNotes(object, noteOne, "yes")
	data := yamlOf(object)
	response := send(p, runner.Post(p.Collection(), data).With("Content-Type", runner.YAML), ok)
	wantExists(p, response, object.GetName(), "that the object exists afterwards")
	wantNotes(p, response, object.GetName(), noteOne, "yes")
}

func (yamlIn) broken() broken.Server {
	return broken.That("does not read YAML", broken.Instead(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.YAMLType)), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		broken.Refuse(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "only JSON is understood")
	}))
}

type yamlOut struct{}

func (r yamlOut) check() runner.Check {
	return runner.Check{
		ID: "yaml-out", Area: areaBodies,
		Rule:        "A client that accepts application/yaml gets the object as YAML, with the same content.",
		Detail:      "Gets an object as JSON and as YAML. Tries several times, because others may change the object.",
		Reference:   mediaTypesDoc,
		PerResource: true, Verbs: []string{"create", "get"}, Run: r.run,
	}
}

func (yamlOut) run(p *runner.Probe) {
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
}

func (yamlOut) broken() broken.Server {
	return broken.That("answers JSON to clients that accept YAML", broken.OnRequest(broken.Method(http.MethodGet, broken.Single), func(r *http.Request) {
		if r.Header.Get("Accept") == broken.YAMLType {
			r.Header.Set("Accept", broken.JSONType)
		}
	}))
}
