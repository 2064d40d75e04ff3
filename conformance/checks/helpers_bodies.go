// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/conformance/runner"
)

// protobufType is the media type of Kubernetes for its encoding of protocol buffers, and protobufStart
// what such bodies begin with.
const (
	protobufType  = "application/vnd.kubernetes.protobuf"
	protobufStart = "k8s\x00"
)

// mediaTypeOf returns the media type of an answer without its parameters.
func mediaTypeOf(response *runner.Response) string {
	kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// wantMediaType returns a failure unless the answer is a success of that media type.
func wantMediaType(response *runner.Response, wanted string) {
	response.WantOK()
	if is := mediaTypeOf(response); is != wanted {
		response.FailBecause(fmt.Sprintf("its Content-Type is %q", response.Header.Get("Content-Type")), "an answer of the type %s", wanted)
	}
}

// accepting is a GET of an object with an Accept; without one if it is empty.
func accepting(p *runner.Probe, name, accept string) runner.Request {
	request := runner.Get(p.Path(name)).With("Accept", accept)
	if accept == "" {
		request.Header.Del("Accept")
	}
	return request
}

// yamlOf returns an object as YAML.
func yamlOf(object *unstructured.Unstructured) []byte {
	data := runner.Must(json.Marshal(object))
	return runner.Must(yaml.JSONToYAML(data))
}

// readYAML returns the fields of a YAML body that is an object.
func readYAML(response *runner.Response) map[string]any {
	var fields map[string]any
	if err := yaml.Unmarshal(response.Body, &fields); err != nil || fields == nil {
		response.FailBecause(fmt.Sprintf("it can't be read: %v", err), "an object in YAML")
	}
	return fields
}

// sameFields reports whether two objects are the same, whatever types numbers have.
func sameFields(a, b map[string]any) bool {
	plain := func(fields map[string]any) (value any) {
		data, err := json.Marshal(fields)
		if err != nil || json.Unmarshal(data, &value) != nil {
			return nil
		}
		return value
	}
	first := plain(a)
	return first != nil && reflect.DeepEqual(first, plain(b))
}

// sendRefusable sends a request whose body the server may stop reading: it has an answer then, or only
// a broken connection, for which the response is nil.
func sendRefusable(p *runner.Probe, request runner.Request) *runner.Response {
	var response *runner.Response
	err := runner.Try(func() { response = p.Send(request) })
	var left *runner.LeftOut
	var setup *runner.SetupError
	if errors.As(err, &left) || errors.As(err, &setup) || p.Context.Err() != nil {
		runner.StopOn(err)
	}
	return response
}
