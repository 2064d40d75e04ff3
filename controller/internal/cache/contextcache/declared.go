// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
)

// entryKinds are the kinds of objects that declare entries.
var entryKinds = []string{policy.CachedContextEntry, policy.GlobalContextEntry}

// entryResource returns the resource of a kind of objects that declare entries.
func entryResource(kind string) schema.GroupResource {
	plural := strings.TrimSuffix(strings.ToLower(kind), "y") + "ies"
	return schema.GroupResource{Group: policy.KyvernoGroup, Resource: plural}
}

// declared has the objects of one kind that declare entries.
type declared struct {
	*source.Mirror[*declaration]

	kind  string
	cache *Cache
	// source is nil while the kind is not served. Only the planner uses it.
	source *source.Source
	// unsure is why it is not known whether the kind is served. Only the planner uses it.
	unsure error
}

// declaration is an object that declares an entry. It never changes.
type declaration struct {
	object     *unstructured.Unstructured
	definition *definition
}

func newDeclared(c *Cache, kind string) *declared {
	d := &declared{kind: kind, cache: c}
	d.Mirror = source.NewMirror(source.MirrorConfig[*declaration]{Keep: d.keep, Changed: c.replan})
	return d
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
		d.stop()
		d.Clear()
	}
	if found && d.source == nil {
		d.source = source.New(source.Config{
			Resource: resource, Client: d.cache.config.Client, Clock: d.cache.config.Clock,
			Changed: func(err error) {
				if err != nil {
					d.cache.config.Metrics.failures.WithLabelValues(reasonOf(err)).Inc()
					klog.FromContext(ctx).Error(err, "Entries of the context cache can't be read; will retry", "kind", d.kind)
				}
				d.cache.replan()
			},
		})
		d.source.Start(ctx, d)
	}
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

// keep is what the mirror has of an object. What is asked for stays the same as long as the spec does,
// and whom it is open to.
func (d *declared) keep(object *unstructured.Unstructured, before *declaration) (*declaration, error) {
	object = object.DeepCopy()
	object.SetManagedFields(nil)
	object.SetKind(d.kind)
	if before != nil && reflect.DeepEqual(before.object.Object["spec"], object.Object["spec"]) &&
		before.object.GetAnnotations()[policy.AllowNamespacedPolicies] == object.GetAnnotations()[policy.AllowNamespacedPolicies] {
		return &declaration{object: object, definition: before.definition}, nil
	}
	return &declaration{object: object, definition: define(object, d.cache.config.Engine)}, nil
}
