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

const (
	jsonType     = "application/json"
	yamlType     = "application/yaml"
	protobufType = "application/vnd.kubernetes.protobuf"

	// largeBytes is where a body begins to be large.
	largeBytes = 3 << 20
)

func bodies() []Breakage { return append(refusals(), negotiations()...) }

func refusals() []Breakage {
	return []Breakage{
		{
			Check: "body-malformed", What: "answers 500 to bodies that are no JSON",
			Break: instead(method(http.MethodPost, collection, sends(jsonType)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if body := bodyOf(r); len(body) == 0 || json.Valid(body) {
					next.ServeHTTP(w, r)
					return
				}
				refuse(w, http.StatusInternalServerError, "InternalError", "unexpected end of JSON input")
			}),
		},
		{
			Check: "body-empty", What: "answers 500 to empty bodies",
			Break: instead(method(http.MethodPost, collection), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if len(bodyOf(r)) > 0 {
					next.ServeHTTP(w, r)
					return
				}
				refuse(w, http.StatusInternalServerError, "InternalError", "no object")
			}),
		},
		{
			Check: "body-wrong-kind", What: "does not look at the kind and the apiVersion of what it stores",
			Break: instead(method(http.MethodPost, collection, sends(jsonType)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				setKind(next, r)
				next.ServeHTTP(w, r)
			}),
		},
		{
			Check: "body-too-large", What: "answers 500 to large bodies",
			Break: instead(method(http.MethodPost, collection), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				if len(bodyOf(r)) < largeBytes {
					next.ServeHTTP(w, r)
					return
				}
				refuse(w, http.StatusInternalServerError, "InternalError", "the database refuses it")
			}),
		},
		{
			Check: "content-type-unknown", What: "takes bodies of all unknown types for JSON",
			Break: onRequest(method(http.MethodPost, collection), func(r *http.Request) {
				if !sends(jsonType, yamlType, protobufType)(r) {
					r.Header.Set("Content-Type", jsonType)
				}
			}),
		},
	}
}

func negotiations() []Breakage {
	return []Breakage{
		{
			Check: "accept-unknown", What: "answers JSON to clients that accept only unknown types",
			Break: onRequest(method(http.MethodGet, single), func(r *http.Request) {
				known := func(name string) bool { return strings.Contains(r.Header.Get("Accept"), name) }
				if !slices.ContainsFunc([]string{"json", "yaml", "protobuf", "*"}, known) {
					r.Header.Set("Accept", jsonType)
				}
			}),
		},
		{
			Check: "accept-protobuf", What: "answers 406 to lists of types that begin with protocol buffers",
			Break: instead(method(http.MethodGet, single), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				first, more, _ := strings.Cut(r.Header.Get("Accept"), ",")
				if first != protobufType || more == "" {
					next.ServeHTTP(w, r)
					return
				}
				refuse(w, http.StatusNotAcceptable, "NotAcceptable", "only JSON is accepted")
			}),
		},
		{
			Check: "json-default", What: "answers YAML to clients that accept everything",
			Break: onRequest(method(http.MethodGet, single), func(r *http.Request) {
				if accept := r.Header.Get("Accept"); accept == "" || accept == "*/*" {
					r.Header.Set("Accept", yamlType)
				}
			}),
		},
		{
			Check: "yaml-in", What: "does not read YAML",
			Break: instead(method(http.MethodPost, collection, sends(yamlType)), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				refuse(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "only JSON is understood")
			}),
		},
		{
			Check: "yaml-out", What: "answers JSON to clients that accept YAML",
			Break: onRequest(method(http.MethodGet, single), func(r *http.Request) {
				if r.Header.Get("Accept") == yamlType {
					r.Header.Set("Accept", jsonType)
				}
			}),
		},
	}
}

// setKind makes the object that a request brings one of the kind that is created so.
func setKind(next http.Handler, r *http.Request) {
	var object map[string]any
	if json.Unmarshal(bodyOf(r), &object) != nil || object == nil {
		return
	}
	apiVersion, kind := kindAt(next, r)
	if object["apiVersion"] == apiVersion && object["kind"] == kind {
		return // Encoded again, it would have no field twice.
	}
	object["apiVersion"], object["kind"] = apiVersion, kind
	if data, err := json.Marshal(object); err == nil {
		setBody(r, data)
	}
}

// kindAt returns what the objects are that are created with a request.
func kindAt(next http.Handler, r *http.Request) (apiVersion, kind string) {
	p := placeOf(r)
	if p == nil {
		return "", ""
	}
	var list metav1.APIResourceList
	if json.Unmarshal(also(next, r, http.MethodGet, groupVersionPath(p), "", nil).body, &list) != nil {
		return "", ""
	}
	for _, resource := range list.APIResources {
		if resource.Name == p.resource {
			return list.GroupVersion, resource.Kind
		}
	}
	return "", ""
}
