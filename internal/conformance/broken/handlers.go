// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Match tells which requests are broken.
type Match func(*http.Request) bool

// Method matches requests of a method; more have to match, too.
func Method(name string, more ...Match) Match {
	return And(append(more, func(r *http.Request) bool { return r.Method == name })...)
}

// And matches requests that match all of these.
func And(matches ...Match) Match {
	return func(r *http.Request) bool {
		for _, match := range matches {
			if !match(r) {
				return false
			}
		}
		return true
	}
}

// Path matches requests whose path ends so.
func Path(suffix string) Match {
	return func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, suffix) }
}

// HasQuery matches requests that have a parameter.
func HasQuery(name string) Match {
	return func(r *http.Request) bool { return r.URL.Query().Has(name) }
}

// Place is what a path of the API is about.
type Place struct {
	Group, Version, Namespace, Resource, Name, subresource string
}

// PlaceOf returns what a request is about; nil if not about objects.
func PlaceOf(r *http.Request) *Place {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	p := &Place{}
	switch {
	case len(parts) > 2 && parts[0] == "api":
		p.Version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		p.Group, p.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		p.Namespace, parts = parts[1], parts[2:]
	}
	for i, field := range []*string{&p.Resource, &p.Name, &p.subresource} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
	return p
}

// IsCore tells what is about namespaces and the like, which are not checked but used.
func IsCore(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// Collection matches requests about all objects of a resource or those of a namespace.
func Collection(r *http.Request) bool {
	p := PlaceOf(r)
	return p != nil && !IsCore(r) && p.Name == ""
}

// Single matches requests about one object, not one of its subresources.
func Single(r *http.Request) bool {
	p := PlaceOf(r)
	return p != nil && !IsCore(r) && p.Name != "" && p.subresource == ""
}

// Subresource matches requests about a subresource.
func Subresource(name string) Match {
	return func(r *http.Request) bool {
		p := PlaceOf(r)
		return p != nil && !IsCore(r) && p.subresource == name
	}
}

// Watching matches watches.
func Watching(r *http.Request) bool {
	value := r.URL.Query().Get("watch")
	return value == "true" || value == "1"
}

// Listing matches lists.
func Listing(r *http.Request) bool {
	return r.Method == http.MethodGet && Collection(r) && !Watching(r)
}

// BodyOf reads the body of a request, which can be read again afterwards.
func BodyOf(r *http.Request) []byte {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	SetBody(r, data)
	return data
}

// SetBody gives a request another body.
func SetBody(r *http.Request, data []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	r.Header.Set("Content-Length", strconv.Itoa(len(data)))
}

// OnRequest has edit change requests before the server sees them.
func OnRequest(match Match, edit func(*http.Request)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if match(r) {
				edit(r)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// OnSentObject has edit change the JSON objects that requests bring.
func OnSentObject(match Match, edit func(object map[string]any)) func(http.Handler) http.Handler {
	return OnRequest(match, func(r *http.Request) {
		var object map[string]any
		if json.Unmarshal(BodyOf(r), &object) != nil || object == nil {
			return
		}
		before, err := json.Marshal(object)
		if err != nil {
			return
		}
		edit(object)
		// What is not changed stays as it was sent: fields may be there twice.
		if data, err := json.Marshal(object); err == nil && !bytes.Equal(data, before) {
			SetBody(r, data)
		}
	})
}

// WithoutQuery takes parameters away from requests.
func WithoutQuery(match Match, names ...string) func(http.Handler) http.Handler {
	return OnRequest(match, func(r *http.Request) {
		query := r.URL.Query()
		for _, name := range names {
			query.Del(name)
		}
		r.URL.RawQuery = query.Encode()
	})
}

// Answer is one that can be changed before it is sent.
type Answer struct {
	Code   int
	Header http.Header
	Body   []byte
}

// OK returns whether the code is one of success.
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
	a.Header.Set("Content-Type", "application/json")
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

// events changes the lines of a watch as they pass.
type events struct {
	http.ResponseWriter

	edit func(event map[string]any) []map[string]any
	line []byte
	// refused tells that the answer is no watch.
	refused bool
}

func (e *events) WriteHeader(code int) {
	e.refused = code != http.StatusOK
	e.ResponseWriter.WriteHeader(code)
}

func (e *events) Write(data []byte) (int, error) {
	if e.refused {
		return e.ResponseWriter.Write(data)
	}
	e.line = append(e.line, data...)
	for {
		end := bytes.IndexByte(e.line, '\n')
		if end < 0 {
			return len(data), nil
		}
		line := e.line[:end]
		e.line = e.line[end+1:]
		var event map[string]any
		if json.Unmarshal(line, &event) != nil {
			continue
		}
		for _, out := range e.edit(event) {
			text, err := json.Marshal(out)
			if err != nil {
				return 0, err
			}
			if _, err := e.ResponseWriter.Write(append(text, '\n')); err != nil {
				return 0, err
			}
		}
	}
}

// Unwrap is for [http.ResponseController].
func (e *events) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// Flush implements [http.Flusher].
func (e *events) Flush() {
	http.NewResponseController(e.ResponseWriter).Flush() //nolint:errcheck // The client has gone.
}

// OnEvents has edit replace each event of watches; newEdit is called once for each watch.
func OnEvents(match Match, newEdit func(*http.Request) func(event map[string]any) []map[string]any) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !match(r) || !Watching(r) {
				next.ServeHTTP(w, r)
				return
			}
			r.Header.Del("Accept-Encoding")
			next.ServeHTTP(&events{ResponseWriter: w, edit: newEdit(r)}, r)
		})
	}
}

// FieldsOf returns an object in an object, which is made if need be.
func FieldsOf(object map[string]any, name string) map[string]any {
	fields, ok := object[name].(map[string]any)
	if !ok {
		fields = map[string]any{}
		object[name] = fields
	}
	return fields
}
