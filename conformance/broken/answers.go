// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Answer is one that can be changed before it is sent.
type Answer struct {
	Code   int
	Header http.Header
	Body   []byte
}

// OK reports whether the code is one of success.
func (a *Answer) OK() bool { return a.Code >= 200 && a.Code < 300 }

// Object returns the body; nil if it is not a JSON object.
func (a *Answer) Object() map[string]any {
	var object map[string]any
	if json.Unmarshal(a.Body, &object) != nil {
		return nil
	}
	return object
}

// Set makes a value the body.
func (a *Answer) Set(value any) {
	if data, err := json.Marshal(value); err == nil {
		a.Body = data
	}
}

// Edit changes the body if it is a JSON object.
func (a *Answer) Edit(change func(object map[string]any)) {
	if object := a.Object(); object != nil {
		change(object)
		a.Set(object)
	}
}

// Status makes the answer one of failure.
func (a *Answer) Status(code int, reason, message string) {
	a.Code = code
	a.Header.Set("Content-Type", JSONType)
	a.Set(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "message": message, "reason": reason, "code": code})
}

// recorder keeps an answer. It is not for streams.
type recorder struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) Write(data []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(data)
}

func (r *recorder) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
}

// Ask returns what a handler answers.
func Ask(next http.Handler, r *http.Request) *Answer {
	r.Header.Del("Accept-Encoding")
	to := &recorder{header: http.Header{}}
	next.ServeHTTP(to, r)
	to.WriteHeader(http.StatusOK)
	return &Answer{to.code, to.header, to.body.Bytes()}
}

// Send sends an answer.
func (a *Answer) Send(w http.ResponseWriter) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(a.Code)
	w.Write(a.Body) //nolint:errcheck // The client has gone, or is a test and no browser.
}

// OnAnswer has edit change answers before they are sent. It must not match watches.
func OnAnswer(match Match, edit func(*http.Request, *Answer)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !match(r) {
				next.ServeHTTP(w, r)
				return
			}
			a := Ask(next, r)
			edit(r, a)
			a.Send(w)
		})
	}
}

// OnAnswered has edit change the JSON objects of successful answers. It must not match watches.
func OnAnswered(match Match, edit func(object map[string]any)) func(http.Handler) http.Handler {
	return OnAnswer(match, func(_ *http.Request, a *Answer) {
		if a.OK() {
			a.Edit(edit)
		}
	})
}

// Instead has handle answer requests, which can still ask next.
func Instead(match Match, handle func(w http.ResponseWriter, r *http.Request, next http.Handler)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if match(r) {
				handle(w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
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
		other.URL.Path, other.URL.RawPath = path, ""
	}
	other.Header.Set("Accept", JSONType)
	other.Header.Del("Content-Type")
	var data []byte
	if body != nil {
		other.Header.Set("Content-Type", mediaType)
		data, _ = json.Marshal(body) //nolint:errchkjson // Only objects made of JSON get here.
	}
	SetBody(other, data)
	return Ask(next, other)
}

// MetadataOf returns that of the object that an answer is.
func MetadataOf(a *Answer) metav1.ObjectMeta {
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(a.Body, &object) != nil {
		return metav1.ObjectMeta{}
	}
	return object.ObjectMeta
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
			dropQuery(r, names)
			SetBody(r, body)
			a = Ask(next, r)
		}
		a.Send(w)
	})
}

// IsBadRequest reports whether an answer has the code 400.
func IsBadRequest(a *Answer) bool { return a.Code == http.StatusBadRequest }
