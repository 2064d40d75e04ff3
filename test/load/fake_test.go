// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// fakeServer keeps reports in memory and answers what the phases ask. Its fields make
// it answer wrongly, to see whether that is noticed.
type fakeServer struct {
	dropFromLists int    // objects that lists leave out
	repeatEvents  bool   // each event comes twice
	failMethod    string // answered 500

	mu       sync.Mutex // guards the fields below
	objects  map[string]json.RawMessage
	watchers map[chan string]bool
}

// start returns the URL of a server that lives as long as the test.
func (f *fakeServer) start(t *testing.T) string {
	t.Helper()
	f.objects, f.watchers = map[string]json.RawMessage{}, map[chan string]bool{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == f.failMethod {
		http.Error(w, "made to fail", http.StatusInternalServerError)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/api/v1/namespaces") {
		w.WriteHeader(map[string]int{http.MethodPost: http.StatusCreated, http.MethodDelete: http.StatusOK}[r.Method])
		return
	}
	collection := strings.HasSuffix(r.URL.Path, "/policyreports")
	switch {
	case r.Method == http.MethodPost:
		f.create(w, r)
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") == "true":
		f.watch(w, r)
	case r.Method == http.MethodGet && collection:
		f.list(w, r)
	default:
		f.single(w, r)
	}
}

func (f *fakeServer) create(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var object struct{ Metadata struct{ Name string } }
	if err := json.Unmarshal(body, &object); err != nil || object.Metadata.Name == "" {
		http.Error(w, fmt.Sprint("no object: ", err), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := r.URL.Path + "/" + object.Metadata.Name
	if f.objects[key] != nil {
		w.WriteHeader(http.StatusConflict)
		return
	}
	f.objects[key] = body
	w.WriteHeader(http.StatusCreated)
}

func (f *fakeServer) single(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.objects[r.URL.Path] == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	switch r.Method {
	case http.MethodPut:
		f.objects[r.URL.Path] = body
		f.send(fmt.Sprintf(`{"type":"MODIFIED","object":%s}`, body))
	case http.MethodDelete:
		delete(f.objects, r.URL.Path)
	default:
		_, _ = w.Write(f.objects[r.URL.Path])
	}
}

func (f *fakeServer) send(event string) {
	for watcher := range f.watchers {
		watcher <- event
		if f.repeatEvents {
			watcher <- event
		}
	}
}

func (f *fakeServer) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	prefix := strings.TrimSuffix(r.URL.Path, "/policyreports")
	_, wanted, _ := strings.Cut(r.URL.Query().Get("labelSelector"), "=")
	var items []string
	for _, key := range slices.Sorted(maps.Keys(f.objects)) {
		if strings.HasPrefix(key, prefix) && strings.Contains(string(f.objects[key]), `"`+wanted) {
			items = append(items, string(f.objects[key]))
		}
	}
	items = items[min(f.dropFromLists, len(items)):]
	start, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	items = items[start:]
	next := ""
	if limit, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil && limit < len(items) {
		items, next = items[:limit], strconv.Itoa(start+limit)
	}
	fmt.Fprintf(w, `{"items":[%s],"metadata":{"resourceVersion":"7","continue":%q}}`, strings.Join(items, ","), next)
}

func (f *fakeServer) watch(w http.ResponseWriter, r *http.Request) {
	events := make(chan string, 10_000) // More than any test sends.
	f.mu.Lock()
	f.watchers[events] = true
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		delete(f.watchers, events)
		f.mu.Unlock()
	}()
	_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{}}`+"\n")
	w.(http.Flusher).Flush()
	for {
		select {
		case event := <-events:
			_, _ = io.WriteString(w, event+"\n")
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}
