// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenBodies are servers that break the rules of this area.
func brokenBodies() map[string]broken.Server {
	return map[string]broken.Server{
		"body-malformed": broken.That("answers 500 to bodies that are no JSON", broken.Instead(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if body := broken.BodyOf(r); len(body) == 0 || json.Valid(body) {
				next.ServeHTTP(w, r)
				return
			}
			broken.Refuse(w, http.StatusInternalServerError, "InternalError", "unexpected end of JSON input")
		})),
		"body-empty": broken.That("answers 500 to empty bodies", broken.Instead(broken.Method(http.MethodPost, broken.Collection), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if len(broken.BodyOf(r)) > 0 {
				next.ServeHTTP(w, r)
				return
			}
			broken.Refuse(w, http.StatusInternalServerError, "InternalError", "no object")
		})),
		"body-wrong-kind": broken.That("does not look at the kind and the apiVersion of what it stores", broken.Instead(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.JSONType)), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			setKind(next, r)
			next.ServeHTTP(w, r)
		})),
		"body-too-large": broken.That("answers 500 to large bodies", broken.Instead(broken.Method(http.MethodPost, broken.Collection), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if len(broken.BodyOf(r)) < broken.LargeBytes {
				next.ServeHTTP(w, r)
				return
			}
			broken.Refuse(w, http.StatusInternalServerError, "InternalError", "the database refuses it")
		})),
		"content-type-unknown": broken.That("takes bodies of all unknown types for JSON", broken.OnRequest(broken.Method(http.MethodPost, broken.Collection), func(r *http.Request) {
			if !broken.Sends(broken.JSONType, broken.YAMLType, broken.ProtobufType)(r) {
				r.Header.Set("Content-Type", broken.JSONType)
			}
		})),
		"accept-unknown": broken.That("answers JSON to clients that accept only unknown types", broken.OnRequest(broken.Method(http.MethodGet, broken.Single), func(r *http.Request) {
			known := func(name string) bool { return strings.Contains(r.Header.Get("Accept"), name) }
			if !slices.ContainsFunc([]string{"json", "yaml", "protobuf", "*"}, known) {
				r.Header.Set("Accept", broken.JSONType)
			}
		})),
		"accept-protobuf": broken.That("answers 406 to lists of types that begin with protocol buffers", broken.Instead(broken.Method(http.MethodGet, broken.Single), func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			first, more, _ := strings.Cut(r.Header.Get("Accept"), ",")
			if first != broken.ProtobufType || more == "" {
				next.ServeHTTP(w, r)
				return
			}
			broken.Refuse(w, http.StatusNotAcceptable, "NotAcceptable", "only JSON is accepted")
		})),
		"json-default": broken.That("answers YAML to clients that accept everything", broken.OnRequest(broken.Method(http.MethodGet, broken.Single), func(r *http.Request) {
			if accept := r.Header.Get("Accept"); accept == "" || accept == "*/*" {
				r.Header.Set("Accept", broken.YAMLType)
			}
		})),
		"yaml-in": broken.That("does not read YAML", broken.Instead(broken.Method(http.MethodPost, broken.Collection, broken.Sends(broken.YAMLType)), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			broken.Refuse(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "only JSON is understood")
		})),
		"yaml-out": broken.That("answers JSON to clients that accept YAML", broken.OnRequest(broken.Method(http.MethodGet, broken.Single), func(r *http.Request) {
			if r.Header.Get("Accept") == broken.YAMLType {
				r.Header.Set("Accept", broken.JSONType)
			}
		})),
	}
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
