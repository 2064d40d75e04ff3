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

// method matches requests of a method; more have to match, too.
func method(name string, more ...Match) Match {
	return all(append(more, func(r *http.Request) bool { return r.Method == name })...)
}

func all(matches ...Match) Match {
	return func(r *http.Request) bool {
		for _, match := range matches {
			if !match(r) {
				return false
			}
		}
		return true
	}
}

// path matches requests whose path ends so.
func path(suffix string) Match {
	return func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, suffix) }
}

// hasQuery matches requests that have a parameter.
func hasQuery(name string) Match {
	return func(r *http.Request) bool { return r.URL.Query().Has(name) }
}

// place is what a path of the API is about.
type place struct {
	group, version, namespace, resource, name, subresource string
}

// placeOf returns what a request is about; nil if not about objects.
func placeOf(r *http.Request) *place {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	p := &place{}
	switch {
	case len(parts) > 2 && parts[0] == "api":
		p.version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		p.group, p.version, parts = parts[1], parts[2], parts[3:]
	default:
		return nil
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		p.namespace, parts = parts[1], parts[2:]
	}
	for i, field := range []*string{&p.resource, &p.name, &p.subresource} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
	return p
}

// isCore tells what is about namespaces and the like, which are not checked but used.
func isCore(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/api/") }

// collection matches requests about all objects of a resource or those of a namespace.
func collection(r *http.Request) bool {
	p := placeOf(r)
	return p != nil && !isCore(r) && p.name == ""
}

// single matches requests about one object, not one of its subresources.
func single(r *http.Request) bool {
	p := placeOf(r)
	return p != nil && !isCore(r) && p.name != "" && p.subresource == ""
}

// subresource matches requests about a subresource.
func subresource(name string) Match {
	return func(r *http.Request) bool {
		p := placeOf(r)
		return p != nil && !isCore(r) && p.subresource == name
	}
}

// watching matches watches.
func watching(r *http.Request) bool {
	value := r.URL.Query().Get("watch")
	return value == "true" || value == "1"
}

// listing matches lists.
func listing(r *http.Request) bool {
	return r.Method == http.MethodGet && collection(r) && !watching(r)
}

// bodyOf reads the body of a request, which can be read again afterwards.
func bodyOf(r *http.Request) []byte {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil
	}
	setBody(r, data)
	return data
}

func setBody(r *http.Request, data []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	r.Header.Set("Content-Length", strconv.Itoa(len(data)))
}

// onRequest has edit change requests before the server sees them.
func onRequest(match Match, edit func(*http.Request)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if match(r) {
				edit(r)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// onSentObject has edit change the JSON objects that requests bring.
func onSentObject(match Match, edit func(object map[string]any)) func(http.Handler) http.Handler {
	return onRequest(match, func(r *http.Request) {
		var object map[string]any
		if json.Unmarshal(bodyOf(r), &object) != nil || object == nil {
			return
		}
		before, err := json.Marshal(object)
		if err != nil {
			return
		}
		edit(object)
		// What is not changed stays as it was sent: fields may be there twice.
		if data, err := json.Marshal(object); err == nil && !bytes.Equal(data, before) {
			setBody(r, data)
		}
	})
}

// withoutQuery takes parameters away from requests.
func withoutQuery(match Match, names ...string) func(http.Handler) http.Handler {
	return onRequest(match, func(r *http.Request) {
		query := r.URL.Query()
		for _, name := range names {
			query.Del(name)
		}
		r.URL.RawQuery = query.Encode()
	})
}

// answer is one that can be changed before it is sent.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

func (a *answer) ok() bool { return a.code >= 200 && a.code < 300 }

// object returns the body; nil if it is not a JSON object.
func (a *answer) object() map[string]any {
	var object map[string]any
	if json.Unmarshal(a.body, &object) != nil {
		return nil
	}
	return object
}

// set makes a value the body.
func (a *answer) set(value any) {
	if data, err := json.Marshal(value); err == nil {
		a.body = data
	}
}

// edit changes the body if it is a JSON object.
func (a *answer) edit(change func(object map[string]any)) {
	if object := a.object(); object != nil {
		change(object)
		a.set(object)
	}
}

// status makes the answer one of failure.
func (a *answer) status(code int, reason, message string) {
	a.code = code
	a.header.Set("Content-Type", "application/json")
	a.set(map[string]any{"kind": "Status", "apiVersion": "v1", "metadata": map[string]any{}, "status": "Failure", "message": message, "reason": reason, "code": code})
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

// ask returns what a handler answers.
func ask(next http.Handler, r *http.Request) *answer {
	r.Header.Del("Accept-Encoding")
	to := &recorder{header: http.Header{}}
	next.ServeHTTP(to, r)
	to.WriteHeader(http.StatusOK)
	return &answer{to.code, to.header, to.body.Bytes()}
}

// send sends an answer.
func (a *answer) send(w http.ResponseWriter) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(a.code)
	w.Write(a.body) //nolint:errcheck,gosec // The client has gone, or is a test and no browser.
}

// onAnswer has edit change answers before they are sent. It must not match watches.
func onAnswer(match Match, edit func(*http.Request, *answer)) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !match(r) {
				next.ServeHTTP(w, r)
				return
			}
			a := ask(next, r)
			edit(r, a)
			a.send(w)
		})
	}
}

// onAnswered has edit change the JSON objects of successful answers. It must not match watches.
func onAnswered(match Match, edit func(object map[string]any)) func(http.Handler) http.Handler {
	return onAnswer(match, func(_ *http.Request, a *answer) {
		if a.ok() {
			a.edit(edit)
		}
	})
}

// instead has handle answer requests, which can still ask next.
func instead(match Match, handle func(w http.ResponseWriter, r *http.Request, next http.Handler)) func(http.Handler) http.Handler {
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

// onEvents has edit replace each event of watches; newEdit is called once for each watch.
func onEvents(match Match, newEdit func(*http.Request) func(event map[string]any) []map[string]any) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !match(r) || !watching(r) {
				next.ServeHTTP(w, r)
				return
			}
			r.Header.Del("Accept-Encoding")
			next.ServeHTTP(&events{ResponseWriter: w, edit: newEdit(r)}, r)
		})
	}
}

// fieldsOf returns an object in an object, which is made if need be.
func fieldsOf(object map[string]any, name string) map[string]any {
	fields, ok := object[name].(map[string]any)
	if !ok {
		fields = map[string]any{}
		object[name] = fields
	}
	return fields
}
