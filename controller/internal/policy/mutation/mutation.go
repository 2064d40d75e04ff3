// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mutation is what evaluating policies that mutate takes, whatever engine does it: the schemas of
// resources, by which patches are merged, and the question whether a mutation would change anything.
package mutation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/openapi"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/utils/clock"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// NotApplied is the message of a failure, as in Kyverno's reports.
const NotApplied = "mutation is not applied"

// Applied reports whether a mutation has changed nothing.
func Applied(object, mutated *unstructured.Unstructured) bool {
	return mutated != nil && equality.Semantic.DeepEqual(object.Object, mutated.Object)
}

// pathsAge is how long it counts which schemas the API server has. Definitions of custom resources change them.
const pathsAge = 30 * time.Second

// Schemas are those of resources. They come from the API server as they are needed; without one, those of
// Kubernetes' own kinds are known. What is not known is merged without a schema: lists are replaced as a
// whole. It is safe for concurrent use.
type Schemas struct {
	client openapi.Client
	clock  clock.PassiveClock

	loading singleflight.Group

	mu      sync.Mutex // guards the fields below
	paths   map[string]openapi.GroupVersion
	asked   time.Time
	failed  error
	parsed  map[string]parsedSchema
	builtIn managedfields.TypeConverter
}

// parsedSchema is the schema of a group and version. Its address changes with it.
type parsedSchema struct {
	url       string
	converter managedfields.TypeConverter
}

var _ patch.TypeConverterManager = (*Schemas)(nil)

// NewSchemas returns the schemas of an API server; with nil, those of Kubernetes' own kinds.
func NewSchemas(client openapi.Client) *Schemas {
	return &Schemas{
		client: client, clock: clock.RealClock{}, parsed: map[string]parsedSchema{},
		builtIn: applyconfigurations.NewTypeConverter(scheme.Scheme),
	}
}

// Run has nothing to do.
func (s *Schemas) Run(context.Context) {}

// GetTypeConverter never returns nil: if a schema can't be loaded, the converter fails and says why.
func (s *Schemas) GetTypeConverter(kind schema.GroupVersionKind) managedfields.TypeConverter {
	if s.client == nil {
		if scheme.Scheme.Recognizes(kind) {
			return s.builtIn
		}
		return managedfields.NewDeducedTypeConverter()
	}
	path := "apis/" + kind.GroupVersion().String()
	if kind.Group == "" {
		path = "api/" + kind.Version
	}
	// One asks for all who want the same.
	loaded, err, _ := s.loading.Do(path, func() (any, error) { return s.load(path) })
	converter, ok := loaded.(managedfields.TypeConverter)
	if err != nil || !ok {
		return failing{fmt.Errorf("load the schema of %s: %w", strings.TrimPrefix(kind.String(), "/"), err)}
	}
	return converter
}

// load returns the schema at a path; one that deduces if the API server has none.
func (s *Schemas) load(path string) (managedfields.TypeConverter, error) {
	entry, err := s.find(path)
	if err != nil {
		return nil, err
	}
	if entry == nil {
		return managedfields.NewDeducedTypeConverter(), nil
	}
	url := entry.ServerRelativeURL()
	s.mu.Lock()
	known, ok := s.parsed[path]
	s.mu.Unlock()
	if ok && known.url == url {
		return known.converter, nil
	}
	data, err := entry.Schema(runtime.ContentTypeJSON)
	if err != nil {
		return nil, err
	}
	var document spec3.OpenAPI
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	if document.Components == nil {
		return managedfields.NewDeducedTypeConverter(), nil
	}
	converter, err := managedfields.NewTypeConverter(document.Components.Schemas, false)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parsed[path] = parsedSchema{url, converter}
	return converter, nil
}

// find returns the entry of a path; nil if there is none.
func (s *Schemas) find(path string) (openapi.GroupVersion, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.clock.Now(); s.asked.IsZero() || now.Sub(s.asked) > pathsAge {
		s.asked = now
		s.paths, s.failed = s.client.Paths()
	}
	return s.paths[path], s.failed
}

// failing is a converter for a schema that can't be loaded.
type failing struct{ cause error }

// ObjectToTyped fails, as the next one does.
func (f failing) ObjectToTyped(runtime.Object, ...typed.ValidationOptions) (*typed.TypedValue, error) {
	return nil, f.cause
}

// TypedToObject fails.
func (f failing) TypedToObject(*typed.TypedValue) (runtime.Object, error) { return nil, f.cause }
