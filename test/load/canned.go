// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/plane/sample"
)

// canned answers with the bytes that it was sent, from memory: what it costs is HTTP, and
// nothing that serves reports can be faster. It checks nothing and keeps nothing.
type canned struct {
	// dropFromLists and repeatEvents make it answer wrongly, for tests: objects that lists
	// leave out, and each event twice.
	dropFromLists int
	repeatEvents  bool

	mu sync.RWMutex // guards the fields below
	// objects by place, and their places in order.
	objects map[place]cannedObject
	order   []place
	// selected are the places that have a value of subjectLabel.
	selected map[string][]place
	// watchers have the collection and namespace that they watch; "" is all.
	watchers map[chan []byte]place
}

// place is where an object is: collection is its path without the namespace.
type place struct{ collection, namespace, name string }

type cannedObject struct {
	data    []byte
	subject string
}

// cannedBuffer is how many events a watcher may be behind before it is dropped.
const cannedBuffer = 10_000

func newCanned() *canned {
	return &canned{objects: map[place]cannedObject{}, selected: map[string][]place{}, watchers: map[chan []byte]place{}}
}

// placeOf reads /apis/GROUP/VERSION[/namespaces/NAMESPACE]/RESOURCE[/NAME]; other paths have no collection.
func placeOf(path string) place {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var p place
	if len(parts) > 5 && parts[3] == "namespaces" {
		p.namespace = parts[4]
		parts = slices.Delete(parts, 3, 5)
	}
	if len(parts) == 5 {
		p.name = parts[4]
		parts = parts[:4]
	}
	if len(parts) == 4 && parts[0] == "apis" {
		p.collection = "/" + strings.Join(parts, "/")
	}
	return p
}

func comparePlaces(a, b place) int {
	if n := strings.Compare(a.collection, b.collection); n != 0 {
		return n
	}
	if n := strings.Compare(a.namespace, b.namespace); n != 0 {
		return n
	}
	return strings.Compare(a.name, b.name)
}

// ServeHTTP implements http.Handler.
func (c *canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := placeOf(r.URL.Path)
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/v1/namespaces"):
		w.WriteHeader(map[string]int{http.MethodPost: http.StatusCreated, http.MethodDelete: http.StatusOK}[r.Method])
	case r.URL.Path == "/readyz":
	case p.collection == "":
		discover(w, r.URL.Path)
	case r.Method == http.MethodPost:
		c.create(w, r, p)
	case p.name != "":
		c.single(w, r, p)
	case r.URL.Query().Get("watch") == "true":
		c.watch(w, r, p)
	default:
		c.list(w, r, p)
	}
}

// discover tells kube-apiserver what there is.
func discover(w http.ResponseWriter, path string) {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, kind := range sample.Kinds() {
		if "/apis/"+kind.APIVersion == path {
			list.GroupVersion = kind.APIVersion
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: kind.Resource, Kind: kind.Kind, Namespaced: kind.Namespaced,
				Verbs: metav1.Verbs{"create", "delete", "get", "list", "update", "watch"},
			})
		}
	}
	if list.GroupVersion == "" {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	body, err := json.Marshal(list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusOK, body)
}

func (c *canned) create(w http.ResponseWriter, r *http.Request, p place) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		p.name, err = textBehind(body, `"name":"`, `"metadata":{`)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	_, exists := c.objects[p]
	if !exists {
		c.put(p, body)
	}
	c.mu.Unlock()
	if exists {
		w.WriteHeader(http.StatusConflict)
		return
	}
	answer(w, http.StatusCreated, body)
}

// put keeps a new object, in order.
func (c *canned) put(p place, data []byte) {
	subject, _ := textBehind(data, `"`+subjectLabel+`":"`) // Or none.
	c.objects[p] = cannedObject{data, subject}
	at, _ := slices.BinarySearchFunc(c.order, p, comparePlaces)
	c.order = slices.Insert(c.order, at, p)
	at, _ = slices.BinarySearchFunc(c.selected[subject], p, comparePlaces)
	c.selected[subject] = slices.Insert(c.selected[subject], at, p)
}

// remove forgets an object.
func (c *canned) remove(p place) {
	subject := c.objects[p].subject
	same := func(other place) bool { return other == p }
	c.selected[subject] = slices.DeleteFunc(c.selected[subject], same)
	at, _ := slices.BinarySearchFunc(c.order, p, comparePlaces)
	c.order = slices.Delete(c.order, at, at+1)
	delete(c.objects, p)
}

// textBehind returns the JSON string that follows a key, looked for behind others, one after the other.
func textBehind(data []byte, key string, before ...string) (string, error) {
	for _, part := range append(before, key) {
		_, rest, found := bytes.Cut(data, []byte(part))
		if !found {
			return "", fmt.Errorf("the object has no %s", part)
		}
		data = rest
	}
	text, _, _ := bytes.Cut(data, []byte(`"`))
	return string(text), nil
}

func (c *canned) single(w http.ResponseWriter, r *http.Request, p place) {
	if r.Method == http.MethodGet {
		c.mu.RLock()
		object, found := c.objects[p]
		c.mu.RUnlock()
		if !found {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answer(w, http.StatusOK, object.data)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if !c.change(p, r.Method, body) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer(w, http.StatusOK, body)
}

// change replaces or removes an object, and says whether it was there.
func (c *canned) change(p place, method string, body []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	object, found := c.objects[p]
	switch {
	case !found:
	case method == http.MethodDelete:
		c.remove(p)
	default:
		c.objects[p] = cannedObject{body, object.subject}
		c.send(p, slices.Concat([]byte(`{"type":"MODIFIED","object":`), body, []byte("}\n")))
	}
	return found
}

func answer(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // Or the client has gone.
}

// list answers with the objects of a collection, in order: of one namespace, with one label value, or a page.
func (c *canned) list(w http.ResponseWriter, r *http.Request, p place) {
	query := r.URL.Query()
	limit, _ := strconv.Atoi(query.Get("limit")) // Or all.
	items, next := c.page(p, query.Get("labelSelector"), query.Get("continue"), limit)
	items = items[min(c.dropFromLists, len(items)):]
	w.Header().Set("Content-Type", "application/json")
	// Writes fail when the client has gone, which concerns nobody else.
	_, _ = fmt.Fprintf(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":%q},"items":[`, next)
	for i, item := range items {
		if i > 0 {
			_, _ = w.Write([]byte(","))
		}
		_, _ = w.Write(item)
	}
	_, _ = w.Write([]byte("]}"))
}

// page returns up to limit objects, 0 for all, from the one that continued names on, and the name of the next.
func (c *canned) page(p place, selector, continued string, limit int) (items [][]byte, next string) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	from := place{collection: p.collection, namespace: p.namespace}
	if namespace, name, found := strings.Cut(continued, "/"); found {
		from.namespace, from.name = namespace, name
	}
	order := c.order
	if value, found := strings.CutPrefix(selector, subjectLabel+"="); found {
		order = c.selected[value]
	}
	at, _ := slices.BinarySearchFunc(order, from, comparePlaces)
	for _, one := range order[at:] {
		if one.collection != p.collection || p.namespace != "" && one.namespace != p.namespace {
			break
		}
		if limit > 0 && len(items) == limit {
			return items, one.namespace + "/" + one.name
		}
		items = append(items, c.objects[one].data)
	}
	return items, ""
}

// send gives an event to all watchers of its object's place. One that is too far behind loses its watch.
func (c *canned) send(p place, event []byte) {
	times := 1
	if c.repeatEvents {
		times = 2
	}
	for watcher, watched := range c.watchers {
		if watched.collection != p.collection || watched.namespace != "" && watched.namespace != p.namespace {
			continue
		}
		for range times {
			select {
			case watcher <- event:
			default:
				delete(c.watchers, watcher)
			}
		}
	}
}

func (c *canned) watch(w http.ResponseWriter, r *http.Request, p place) {
	events := make(chan []byte, cannedBuffer)
	c.mu.Lock()
	c.watchers[events] = p
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.watchers, events)
		c.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"type":"BOOKMARK","object":{}}`+"\n") // Flush tells when the client has gone.
	control := http.NewResponseController(w)
	for {
		if control.Flush() != nil {
			return
		}
		select {
		case event := <-events:
			_, _ = w.Write(event)
		case <-r.Context().Done():
			return
		}
	}
}
