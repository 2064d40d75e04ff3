// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/served"
	"github.com/docket-project/docket/controller/internal/source"
)

// entryKinds are the kinds of objects that declare entries.
//
//nolint:gochecknoglobals // A table.
var entryKinds = []string{policy.CachedContextEntry, policy.GlobalContextEntry}

// entryResource returns the resource of a kind of objects that declare entries.
func entryResource(kind string) schema.GroupResource {
	plural := strings.TrimSuffix(strings.ToLower(kind), "y") + "ies"
	return schema.GroupResource{Group: policy.KyvernoGroup, Resource: plural}
}

// declared has the objects of one kind that declare entries. It is the store of their source.
type declared struct {
	kind  string
	cache *Cache
	// source is nil while the kind is not served. Only the planner uses it.
	source *source.Source
	// unsure is why it is not known whether the kind is served. Only the planner uses it.
	unsure error

	mu      sync.Mutex
	objects map[string]*declaration
}

// declaration is an object that declares an entry. It never changes.
type declaration struct {
	object     *unstructured.Unstructured
	definition *definition
}

func newDeclared(c *Cache, kind string) *declared {
	return &declared{kind: kind, cache: c, objects: map[string]*declaration{}}
}

// follow starts or ends the source as the kind is served or not.
func (d *declared) follow(ctx context.Context, catalog *served.Catalog) {
	wanted := entryResource(d.kind)
	resource, found := catalog.Lookup(wanted, d.kind)
	d.unsure = nil
	if !found && catalog.GroupFailed(wanted.Group) {
		d.unsure = fmt.Errorf("the API does not say whether it has %s", wanted)
		return // Nor that it is gone.
	}
	if d.source != nil && (!found || d.source.Resource() != resource) {
		d.source.Stop()
		d.source = nil
		d.mu.Lock()
		d.objects = map[string]*declaration{}
		d.mu.Unlock()
	}
	if found && d.source == nil {
		d.source = source.New(source.Config{
			Resource: resource, Client: d.cache.config.Client, Clock: d.cache.config.Clock,
			Changed: func(err error) { d.noted(ctx, err) },
		})
		d.source.Start(ctx, d)
	}
}

func (d *declared) noted(ctx context.Context, err error) {
	if err != nil {
		failures.WithLabelValues(reasonOf(err)).Inc()
		klog.FromContext(ctx).Error(err, "Entries of the context cache can't be read; will retry", "kind", d.kind)
	}
	d.cache.replan()
}

func (d *declared) stop() {
	if d.source != nil {
		d.source.Stop()
		d.source = nil
	}
}

// state returns what is known of the objects of the kind. The planner calls it.
func (d *declared) state() kindState {
	if d.source == nil {
		return kindState{decided: true, absent: true, err: d.unsure}
	}
	listed, err := d.source.State()
	state := kindState{decided: d.source.Decided()}
	if !listed {
		state.err = err
	}
	return state
}

// all returns the objects by name. The planner and the writer of status call it.
func (d *declared) all() map[string]*declaration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.objects)
}

// Add is called for an object that is new.
func (d *declared) Add(object any) error { return d.Update(object) }

// Update is called for an object that changed.
func (d *declared) Update(object any) error {
	o, err := d.own(object)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.put(d.objects, o)
	d.mu.Unlock()
	d.cache.replan()
	return nil
}

// Delete is called for an object that is gone.
func (d *declared) Delete(object any) error {
	o, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	d.mu.Lock()
	delete(d.objects, o.GetName())
	d.mu.Unlock()
	d.cache.replan()
	return nil
}

// Replace is called with all objects, at the start and whenever changes may have been missed.
func (d *declared) Replace(objects []any, _ string) error {
	next := make(map[string]*declaration, len(objects))
	d.mu.Lock()
	for _, object := range objects {
		o, err := d.own(object)
		if err != nil {
			d.mu.Unlock()
			return err
		}
		d.put(next, o)
	}
	d.objects = next
	source := d.source
	d.mu.Unlock()
	source.SetListed()
	d.cache.replan()
	return nil
}

// Resync does nothing: nobody asks for it.
func (d *declared) Resync() error { return nil }

func (d *declared) own(object any) (*unstructured.Unstructured, error) {
	o, ok := object.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("%s: object of the type %T", d.kind, object)
	}
	o = o.DeepCopy()
	o.SetManagedFields(nil)
	o.SetKind(d.kind)
	return o, nil
}

// put is called with the mutex. What is asked for stays the same as long as the spec does, and
// whom it is open to.
func (d *declared) put(into map[string]*declaration, o *unstructured.Unstructured) {
	before := d.objects[o.GetName()]
	if before != nil && reflect.DeepEqual(before.object.Object["spec"], o.Object["spec"]) &&
		before.object.GetAnnotations()[policy.AllowNamespacedPolicies] == o.GetAnnotations()[policy.AllowNamespacedPolicies] {
		into[o.GetName()] = &declaration{object: o, definition: before.definition}
		return
	}
	into[o.GetName()] = &declaration{object: o, definition: define(o, d.cache.config.Engine.Check)}
}
