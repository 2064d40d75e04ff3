// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"encoding/json"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetQuery gives a request a parameter.
func SetQuery(r *http.Request, name, value string) {
	query := r.URL.Query()
	query.Set(name, value)
	r.URL.RawQuery = query.Encode()
}

// Storing matches writing requests that are not dry runs.
func Storing(verb string, match Match) Match {
	return Method(verb, match, func(r *http.Request) bool { return !HasQuery("dryRun")(r) })
}

// AsObject matches GET requests that want neither Tables nor the like.
func AsObject(match Match) Match {
	return Method(http.MethodGet, match, func(r *http.Request) bool { return !strings.Contains(r.Header.Get("Accept"), "as=") })
}

// OnBody has edit change the JSON objects that requests bring. Others stay as they are to the byte:
// there are checks of what can't be seen any more in a body that has been read.
func OnBody(match Match, edit func(*http.Request, map[string]any) (changed bool)) func(http.Handler) http.Handler {
	return OnRequest(match, func(r *http.Request) {
		var object map[string]any
		if json.Unmarshal(BodyOf(r), &object) != nil || object == nil || !edit(r, object) {
			return
		}
		if data, err := json.Marshal(object); err == nil {
			SetBody(r, data)
		}
	})
}

// InAnswers replaces what matches an expression in all that is answered, be it JSON or YAML.
func InAnswers(expression, replacement string) func(http.Handler) http.Handler {
	pattern := regexp.MustCompile(expression)
	streams := func(r *http.Request) bool { return Watching(r) && PlaceOf(r) != nil && !IsCore(r) }
	others := func(r *http.Request) bool { return !Watching(r) && PlaceOf(r) != nil && !IsCore(r) }
	events := OnEvents(streams, func(*http.Request) func(map[string]any) []map[string]any {
		return func(event map[string]any) []map[string]any {
			var changed map[string]any
			data, err := json.Marshal(event)
			if err != nil || json.Unmarshal(pattern.ReplaceAll(data, []byte(replacement)), &changed) != nil {
				return []map[string]any{event}
			}
			return []map[string]any{changed}
		}
	})
	answers := OnAnswer(others, func(_ *http.Request, a *Answer) { a.Body = pattern.ReplaceAll(a.Body, []byte(replacement)) })
	return func(next http.Handler) http.Handler { return events(answers(next)) }
}

// TakeOver breaks servers so that they store a field of the metadata that clients send.
func TakeOver(writes Match, field string) func(http.Handler) http.Handler {
	var mu sync.Mutex
	taken := map[string]any{}
	return func(next http.Handler) http.Handler {
		showing := OnAnswer(AsObject(Single), func(r *http.Request, a *Answer) {
			mu.Lock()
			defer mu.Unlock()
			if value := taken[r.URL.Path]; value != nil && a.OK() {
				a.Edit(func(object map[string]any) { FieldsOf(object, "metadata")[field] = value })
			}
		})(next)
		return Instead(writes, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			var object map[string]any
			json.Unmarshal(BodyOf(r), &object) //nolint:errcheck // The server says so.
			a := Ask(next, r)
			if sent, ok := object["metadata"].(map[string]any); ok && a.OK() {
				path := r.URL.Path
				if name, ok := sent["name"].(string); ok && !Single(r) {
					path += "/" + name
				}
				mu.Lock()
				taken[path] = sent[field]
				mu.Unlock()
			}
			a.Send(w)
		})(showing)
	}
}

// Accepts matches requests whose Accept header has a text.
func Accepts(text string) Match {
	return func(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), text) }
}

// The types of patches.
const (
	JSONPatch      = "application/json-patch+json"
	MergePatch     = "application/merge-patch+json"
	StrategicPatch = "application/strategic-merge-patch+json"
	ApplyPatch     = "application/apply-patch+yaml"
)

// TypeOf returns the media type of the body of a request.
func TypeOf(r *http.Request) string {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// Sends matches requests with a body of one of these types.
func Sends(types ...string) Match {
	return func(r *http.Request) bool { return slices.Contains(types, TypeOf(r)) }
}

// QueryIs matches requests that have a parameter with this value.
func QueryIs(name, value string) Match {
	return func(r *http.Request) bool { return r.URL.Query().Get(name) == value }
}

// Refuse answers with a Status of failure.
func Refuse(w http.ResponseWriter, code int, reason, message string) {
	a := &Answer{Header: http.Header{}}
	a.Status(code, reason, message)
	a.Send(w)
}

// Also sends another request as the one who sent r, about the same path unless another is given, and
// returns the answer.
func Also(next http.Handler, r *http.Request, method, path, mediaType string, body any) *Answer {
	other := r.Clone(r.Context())
	other.Method, other.URL.RawQuery = method, ""
	if path != "" {
		other.URL.Path = path
	}
	other.Header.Set("Accept", "application/json")
	other.Header.Del("Content-Type")
	var data []byte
	if body != nil {
		other.Header.Set("Content-Type", mediaType)
		data, _ = json.Marshal(body) //nolint:errchkjson // Only objects made of JSON get here.
	}
	SetBody(other, data)
	return Ask(next, other)
}

// GroupVersionPath returns the path below which what a request is about is served.
func GroupVersionPath(p *Place) string {
	if p.Group == "" {
		return "/api/" + p.Version
	}
	return strings.Join([]string{"/apis", p.Group, p.Version}, "/")
}

// Media types of bodies.
const (
	JSONType     = "application/json"
	YAMLType     = "application/yaml"
	ProtobufType = "application/vnd.kubernetes.protobuf"

	// LargeBytes is where a body begins to be large.
	LargeBytes = 3 << 20
)

// LookUp gets something else in the name of who sends a request.
func LookUp(r *http.Request, next http.Handler, path string) *Answer {
	look := r.Clone(r.Context())
	look.Method, look.Body, look.ContentLength = http.MethodGet, http.NoBody, 0
	look.URL.Path, look.URL.RawPath, look.URL.RawQuery = path, "", ""
	look.Header.Del("Content-Type")
	look.Header.Del("Content-Length")
	look.Header.Set("Accept", "application/json")
	return Ask(next, look)
}

// MetadataOf returns that of the object that an answer is.
func MetadataOf(a *Answer) metav1.ObjectMeta {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(a.Body, &object) != nil {
		return metav1.ObjectMeta{}
	}
	return object.ObjectMeta
}

// PathOf returns the path of the object that a request is about.
func PathOf(r *http.Request) string {
	return strings.TrimSuffix(r.URL.Path, "/"+PlaceOf(r).subresource)
}

// Current returns an object as the server has it; nil if it has not.
func Current(next http.Handler, r *http.Request) map[string]any {
	a := Also(next, r, http.MethodGet, PathOf(r), "", nil)
	if !a.OK() {
		return nil
	}
	return a.Object()
}

// KeepCurrent has requests bring that value of a field of the metadata that the object has.
func KeepCurrent(match Match, field string) func(http.Handler) http.Handler {
	return Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if object := Current(next, r); object != nil {
			OnBody(match, func(_ *http.Request, sent map[string]any) bool {
				metadata, value := FieldsOf(sent, "metadata"), FieldsOf(object, "metadata")[field]
				same := metadata[field] == nil || metadata[field] == value
				metadata[field] = value
				return !same
			})(next).ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// AgainIf asks again without some parameters if that makes a difference for an answer.
func AgainIf(match Match, wrong func(*Answer) bool, names ...string) func(http.Handler) http.Handler {
	return Instead(match, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		body := BodyOf(r)
		a := Ask(next, r)
		if wrong(a) {
			query := r.URL.Query()
			for _, name := range names {
				query.Del(name)
			}
			r.URL.RawQuery = query.Encode()
			SetBody(r, body)
			a = Ask(next, r)
		}
		a.Send(w)
	})
}

// IsBadRequest returns whether an answer has the code 400.
func IsBadRequest(a *Answer) bool { return a.Code == http.StatusBadRequest }
