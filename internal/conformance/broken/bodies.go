// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func bodies() []Breakage { return append(refusals(), negotiations()...) }

func refusals() []Breakage {
	return []Breakage{
		{
			Check: "body-malformed", What: "answers 500 to bodies that are no JSON",
			Break: Instead(Method(http.MethodPost, Collection, Sends(JSONType)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if body := BodyOf(r); len(body) == 0 || json.Valid(body) {
					next.ServeHTTP(w, r)
					return
				}
				Refuse(w, http.StatusInternalServerError, "InternalError", "unexpected end of JSON input")
			}),
		},
		{
			Check: "body-empty", What: "answers 500 to empty bodies",
			Break: Instead(Method(http.MethodPost, Collection), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if len(BodyOf(r)) > 0 {
					next.ServeHTTP(w, r)
					return
				}
				Refuse(w, http.StatusInternalServerError, "InternalError", "no object")
			}),
		},
		{
			Check: "body-wrong-kind", What: "does not look at the kind and the apiVersion of what it stores",
			Break: Instead(Method(http.MethodPost, Collection, Sends(JSONType)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				setKind(next, r)
				next.ServeHTTP(w, r)
			}),
		},
		{
			Check: "body-too-large", What: "answers 500 to large bodies",
			Break: Instead(Method(http.MethodPost, Collection), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if len(BodyOf(r)) < LargeBytes {
					next.ServeHTTP(w, r)
					return
				}
				Refuse(w, http.StatusInternalServerError, "InternalError", "the database refuses it")
			}),
		},
		{
			Check: "content-type-unknown", What: "takes bodies of all unknown types for JSON",
			Break: OnRequest(Method(http.MethodPost, Collection), func(r *http.Request) {
				if !Sends(JSONType, YAMLType, ProtobufType)(r) {
					r.Header.Set("Content-Type", JSONType)
				}
			}),
		},
	}
}

func negotiations() []Breakage {
	return []Breakage{
		{
			Check: "accept-unknown", What: "answers JSON to clients that accept only unknown types",
			Break: OnRequest(Method(http.MethodGet, Single), func(r *http.Request) {
				known := func(name string) bool { return strings.Contains(r.Header.Get("Accept"), name) }
				if !slices.ContainsFunc([]string{"json", "yaml", "protobuf", "*"}, known) {
					r.Header.Set("Accept", JSONType)
				}
			}),
		},
		{
			Check: "accept-protobuf", What: "answers 406 to lists of types that begin with protocol buffers",
			Break: Instead(Method(http.MethodGet, Single), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				first, more, _ := strings.Cut(r.Header.Get("Accept"), ",")
				if first != ProtobufType || more == "" {
					next.ServeHTTP(w, r)
					return
				}
				Refuse(w, http.StatusNotAcceptable, "NotAcceptable", "only JSON is accepted")
			}),
		},
		{
			Check: "json-default", What: "answers YAML to clients that accept everything",
			Break: OnRequest(Method(http.MethodGet, Single), func(r *http.Request) {
				if accept := r.Header.Get("Accept"); accept == "" || accept == "*/*" {
					r.Header.Set("Accept", YAMLType)
				}
			}),
		},
		{
			Check: "yaml-in", What: "does not read YAML",
			Break: Instead(Method(http.MethodPost, Collection, Sends(YAMLType)), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				Refuse(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "only JSON is understood")
			}),
		},
		{
			Check: "yaml-out", What: "answers JSON to clients that accept YAML",
			Break: OnRequest(Method(http.MethodGet, Single), func(r *http.Request) {
				if r.Header.Get("Accept") == YAMLType {
					r.Header.Set("Accept", JSONType)
				}
			}),
		},
	}
}

// setKind makes the object that a request brings one of the kind that is created so.
func setKind(next http.Handler, r *http.Request) {
	var object map[string]any
	if json.Unmarshal(BodyOf(r), &object) != nil || object == nil {
		return
	}
	apiVersion, kind := kindAt(next, r)
	if object["apiVersion"] == apiVersion && object["kind"] == kind {
		return // Encoded again, it would have no field twice.
	}
	object["apiVersion"], object["kind"] = apiVersion, kind
	if data, err := json.Marshal(object); err == nil {
		SetBody(r, data)
	}
}

// kindAt returns what the objects are that are created with a request.
func kindAt(next http.Handler, r *http.Request) (apiVersion, kind string) {
	p := PlaceOf(r)
	if p == nil {
		return "", ""
	}
	var list metav1.APIResourceList
	if json.Unmarshal(Also(next, r, http.MethodGet, GroupVersionPath(p), "", nil).Body, &list) != nil {
		return "", ""
	}
	for _, resource := range list.APIResources {
		if resource.Name == p.Resource {
			return list.GroupVersion, resource.Kind
		}
	}
	return "", ""
}
