// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// fake is a small server of objects that accepts everything. Its fields break it.
type fake struct {
	refuse  func(method, body string) bool // answers 422
	store   func(map[string]any)           // changes what is stored
	pretty  func(map[string]any)           // changes what is answered to those who want it indented
	written func(map[string]any)           // changes what writes are answered
	reorder bool                           // sends events of deletions before those of creations

	mu       sync.Mutex // guards the rest
	version  int
	objects  map[string]map[string]any
	watchers []chan map[string]any
}

func newFake(t *testing.T, f *fake) *Target {
	t.Helper()
	f.objects = map[string]map[string]any{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return testkit.Must(NewTarget("fake", &rest.Config{Host: server.URL}, ""))(t)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", typeJSON)
	if r.URL.Query().Get("watch") == "true" {
		f.watch(w, r)
		return
	}
	var body strings.Builder
	if _, err := fmt.Fprint(&body, readAll(r)); err != nil {
		panic(err)
	}
	code, answer := f.answer(r, body.String())
	answer = maps.Clone(answer)
	switch {
	case f.written != nil && r.Method != http.MethodGet:
		f.written(answer)
	case f.pretty != nil && r.URL.Query().Has("pretty"):
		f.pretty(answer)
	}
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

func (f *fake) answer(r *http.Request, body string) (int, map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	switch r.Method {
	case http.MethodDelete:
		object := f.objects[name]
		if object == nil {
			return failure(http.StatusNotFound, "NotFound")
		}
		delete(f.objects, name)
		f.tell("DELETED", object)
		return http.StatusOK, map[string]any{"kind": "Status", "status": "Success"}
	case http.MethodGet:
		if object := f.objects[name]; object != nil {
			return http.StatusOK, object
		}
		return failure(http.StatusNotFound, "NotFound")
	}
	var object map[string]any
	if json.Unmarshal([]byte(body), &object) != nil {
		return failure(http.StatusBadRequest, "BadRequest")
	}
	metadata, _ := object["metadata"].(map[string]any)
	if metadata == nil || f.refuse != nil && f.refuse(r.Method, body) {
		return failure(http.StatusUnprocessableEntity, "Invalid")
	}
	if f.store != nil {
		f.store(object)
	}
	f.version++
	metadata["resourceVersion"], metadata["uid"] = fmt.Sprint(f.version), fmt.Sprintf("aaaaaaaa-0000-0000-0000-%012d", f.version)
	name, _ = metadata["name"].(string)
	f.objects[name] = object
	f.tell("ADDED", object)
	return http.StatusCreated, object
}

func (f *fake) tell(event string, object map[string]any) {
	for _, watcher := range f.watchers {
		watcher <- map[string]any{"type": event, "object": object}
	}
}

// watch sends all events.
func (f *fake) watch(w http.ResponseWriter, r *http.Request) {
	events := make(chan map[string]any, 1000)
	f.mu.Lock()
	f.watchers = append(f.watchers, events)
	f.mu.Unlock()
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	if r.URL.Query().Has("sendInitialEvents") {
		events <- map[string]any{"type": "BOOKMARK", "object": map[string]any{"metadata": map[string]any{"annotations": map[string]any{"k8s.io/initial-events-end": "true"}}}}
	}
	var held map[string]any
	for {
		select {
		case event := <-events:
			if f.reorder && held == nil && event["type"] == "DELETED" {
				held = event
				continue
			}
			if json.NewEncoder(w).Encode(event) != nil { //nolint:errchkjson // It was decoded from JSON.
				return
			}
			if held != nil && json.NewEncoder(w).Encode(held) != nil { //nolint:errchkjson // As above.
				return
			}
			held = nil
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func failure(code int, reason string) (int, map[string]any) {
	return code, map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
}

func readAll(r *http.Request) string {
	var b strings.Builder
	buffer := make([]byte, 1<<16)
	for {
		n, err := r.Body.Read(buffer)
		b.Write(buffer[:n])
		if err != nil {
			return b.String()
		}
	}
}
