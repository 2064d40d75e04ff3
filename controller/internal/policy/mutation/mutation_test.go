// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package mutation_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"

	"github.com/docket-project/docket/controller/internal/policy/mutation"
)

var widget = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}

// server has the schema of Widgets, whose parts are merged by name.
type server struct {
	mu     sync.Mutex
	url    string
	loaded int
	err    error
}

func (s *server) Paths() (map[string]openapi.GroupVersion, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]openapi.GroupVersion{"apis/example.com/v1": &document{s, s.url}}, s.err
}

type document struct {
	server *server
	url    string
}

func (d *document) Schema(string) ([]byte, error) {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	d.server.loaded++
	text := map[string]any{"type": "string"}
	part := map[string]any{"type": "object", "properties": map[string]any{"name": text, "size": text}}
	return json.Marshal(map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": map[string]any{"Widget": map[string]any{
		"type": "object", "x-kubernetes-group-version-kind": []any{map[string]any{"group": widget.Group, "version": widget.Version, "kind": widget.Kind}},
		"properties": map[string]any{
			"apiVersion": text, "kind": text,
			"parts": map[string]any{"type": "array", "items": part, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name"}},
		},
	}}}})
}

func (d *document) ServerRelativeURL() string { return d.url }

// merged returns the number of parts after one was added.
func merged(t *testing.T, s *mutation.Schemas, kind schema.GroupVersionKind) (int, error) {
	t.Helper()
	with := func(name string) *unstructured.Unstructured {
		out := &unstructured.Unstructured{Object: map[string]any{"parts": []any{map[string]any{"name": name}}}}
		out.SetGroupVersionKind(kind)
		return out
	}
	converter := s.GetTypeConverter(kind)
	original, err := converter.ObjectToTyped(with("a"))
	if err != nil {
		return 0, err
	}
	added, err := converter.ObjectToTyped(with("b"))
	if err != nil {
		return 0, err
	}
	both, err := original.Merge(added)
	if err != nil {
		return 0, err
	}
	object, err := converter.TypedToObject(both)
	if err != nil {
		return 0, err
	}
	parts, _, err := unstructured.NestedSlice(object.(*unstructured.Unstructured).Object, "parts")
	return len(parts), err
}

// TestSchemas: lists are merged by the schema of the API server, which is loaded once; without one they
// are replaced.
func TestSchemas(t *testing.T) {
	t.Parallel()
	of := &server{url: "1"}
	schemas := mutation.NewSchemas(of)
	for range 3 {
		if parts, err := merged(t, schemas, widget); parts != 2 || err != nil {
			t.Errorf("%d parts, %v", parts, err)
		}
	}
	if of.loaded != 1 {
		t.Errorf("loaded %d times", of.loaded)
	}
	other := schema.GroupVersionKind{Group: "other.com", Version: "v1", Kind: "Widget"}
	for _, s := range []*mutation.Schemas{schemas, mutation.NewSchemas(nil)} {
		if parts, err := merged(t, s, other); parts != 1 || err != nil {
			t.Errorf("without a schema: %d parts, %v", parts, err)
		}
	}
}

// TestSchemaThatCannotBeLoaded: it is an error and no guess.
func TestSchemaThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	if _, err := merged(t, mutation.NewSchemas(&server{err: errors.New("away")}), widget); err == nil || !strings.Contains(err.Error(), "load the schema of example.com/v1, Kind=Widget: away") {
		t.Errorf("%v", err)
	}
}

// TestApplied compares.
func TestApplied(t *testing.T) {
	t.Parallel()
	a, b := &unstructured.Unstructured{Object: map[string]any{"a": int64(1)}}, &unstructured.Unstructured{Object: map[string]any{"a": int64(2)}}
	if !mutation.Applied(a, a.DeepCopy()) || mutation.Applied(a, b) || mutation.Applied(a, nil) {
		t.Error("what is equal is not told from what is not")
	}
}
