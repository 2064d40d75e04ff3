// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
)

// growth is how much what is being loaded may grow before the memory limit is looked at again.
const growth = 1 << 20

// resources is an origin: it lists and watches.
type resources struct{ selection selection }

func (r resources) objects() bool { return r.selection.name == "" }

// start implements origin.
func (r resources) start(ctx context.Context, d *dataset) worker {
	selector := r.selection.fields
	if r.selection.name != "" {
		selector = fields.OneTermEqualSelector("metadata.name", r.selection.name).String()
	}
	s := source.New(source.Config{
		Resource: r.selection.resource, Namespace: r.selection.namespace, Clock: d.cache.config.Clock,
		Client: d.cache.config.Client, Labels: r.selection.labels, Fields: selector, Listing: d.listing,
		Changed: func(err error) {
			if err != nil {
				d.cache.config.Metrics.failures.WithLabelValues(reasonOf(err)).Inc()
			}
			d.attempted(err)
		},
		Failed: func(string) { d.cache.config.Metrics.refreshes.WithLabelValues(kindResource, resultFailure).Inc() },
	})
	base := store{dataset: d, source: s}
	if r.selection.name != "" {
		s.Start(ctx, &singleStore{store: base, selection: r.selection})
		return s
	}
	header := table.Header{
		APIVersion: r.selection.resource.GroupVersion().String(),
		Kind:       r.selection.resource.Kind, Plural: r.selection.resource.Resource,
	}
	s.Start(ctx, &tableStore{
		store: base, table: table.NewTable(d.cache.config.Engine, header), filter: d.cache.config.Engine.Filter(r.selection.filter),
	})
	return s
}

// store is the common part of both stores. The reflector calls it, one call at a time.
type store struct {
	dataset *dataset
	source  *source.Source
	// filled reports whether the data have been complete.
	filled bool
}

// complete is called when the data are complete: the first time, or again.
func (s *store) complete(data data, change table.Change) {
	s.dataset.cache.config.Metrics.refreshes.WithLabelValues(kindResource, resultSuccess).Inc()
	first := !s.filled
	s.filled = true
	s.dataset.refresh(data)
	if !first {
		s.dataset.cache.changes.note(s.dataset, change)
	}
}

// grow counts what is being loaded, and has the limit enforced after each mebibyte.
func (s *store) grow(bytes int64) {
	size := s.dataset.growing.Add(bytes)
	if size/growth != (size-bytes)/growth {
		s.dataset.cache.enforceSoon()
	}
}

// tableStore is the store of a list.
type tableStore struct {
	store
	table  *table.Table
	filter *table.Filter
}

// Transformer has the reflector keep what it collects as small as the table does.
func (s *tableStore) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return s.pack(object) }
}

func (s *tableStore) pack(object any) (*table.Packed, error) {
	switch object := object.(type) {
	case *table.Packed:
		return object, nil
	case *unstructured.Unstructured:
		packed, err := s.filter.Pack(object)
		if err == nil {
			s.grow(packed.Size())
		}
		return packed, err
	default:
		return nil, fmt.Errorf("%s: object of the type %T", s.source.Resource().GroupResource(), object)
	}
}

// Update takes an object that is new or has changed.
func (s *tableStore) Update(object any) error {
	packed, err := s.pack(object)
	if err != nil {
		return err
	}
	if packed.Dropped() {
		return s.Delete(packed)
	}
	s.dataset.growing.Store(0)
	s.changed(s.table.Put(packed))
	return nil
}

// Delete takes an object that is gone.
func (s *tableStore) Delete(object any) error {
	meta, err := s.pack(object)
	if err != nil {
		return err
	}
	s.dataset.growing.Store(0)
	if s.table.Delete(meta.GetObjectMeta().GetNamespace(), meta.GetObjectMeta().GetName()) {
		s.changed(table.Content)
	}
	return nil
}

func (s *tableStore) changed(change table.Change) {
	s.dataset.cache.changes.note(s.dataset, change)
}

// Replace takes all objects.
func (s *tableStore) Replace(objects []any, version string) error {
	packed := make([]*table.Packed, 0, len(objects))
	for i, object := range objects {
		one, err := s.pack(object)
		if err != nil {
			return err
		}
		if !one.Dropped() {
			packed = append(packed, one)
		}
		objects[i] = nil // The list may be as large as all that is kept.
	}
	change := s.table.Replace(packed, version)
	s.complete(s.table, change)
	return nil
}

// singleStore is the store of one object, which is asked for by name.
type singleStore struct {
	store
	selection selection
}

// Update takes an object that is new or has changed.
func (s *singleStore) Update(object any) error { return s.put(object) }

// Delete takes an object that is gone.
func (s *singleStore) Delete(any) error { return s.put(nil) }

// Replace takes the object, or nothing.
func (s *singleStore) Replace(objects []any, _ string) error {
	var found any
	for _, object := range objects {
		if o, ok := object.(*unstructured.Unstructured); ok && o.GetName() == s.selection.name {
			found = o
		}
	}
	return s.put(found)
}

func (s *singleStore) put(object any) error {
	resource := s.source.Resource()
	o, ok := object.(*unstructured.Unstructured)
	if ok && o.GetName() != s.selection.name {
		return nil // Of a server that doesn't select.
	}
	if !ok {
		s.complete(noData{apierrors.NewNotFound(resource.GroupResource(), s.selection.name)}, table.Content)
		return nil
	}
	o = o.DeepCopy()
	unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(o.Object, "metadata", "annotations", policy.LastApplied)
	if len(o.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(o.Object, "metadata", "annotations")
	}
	text, err := json.Marshal(o.Object)
	if err != nil {
		return fmt.Errorf("pack %s: %w", s.selection, err)
	}
	document, err := table.NewDocument(s.dataset.cache.config.Engine, text)
	if err != nil {
		return fmt.Errorf("pack %s: %w", s.selection, err)
	}
	s.complete(documentData{document}, table.Content)
	return nil
}

// documentData adapts a document, which has no shapes.
type documentData struct{ *table.Document }

// Search implements data.
func (d documentData) Search(ctx context.Context, _ table.Shape, expression string, aliases ...string) (any, error) {
	return d.Document.Search(ctx, expression, aliases...)
}

// Shrink implements data.
func (d documentData) Shrink() {
	d.Trim() // The second time all is unused.
	d.Trim()
}

// Len implements data.
func (d documentData) Len() int { return 1 }

// Problem returns nil.
func (d documentData) Problem() error { return nil }

// noData stands for an object that does not exist.
type noData struct{ err error }

// Search implements data.
func (d noData) Search(context.Context, table.Shape, string, ...string) (any, error) {
	return nil, d.err
}

// Bytes implements data.
func (d noData) Bytes() int64 { return 0 }

// Trim implements data.
func (d noData) Trim() {}

// Shrink implements data.
func (d noData) Shrink() {}

// Len implements data.
func (d noData) Len() int { return 0 }

// Problem returns nil: whether there is an object is not what is wrong with the data.
func (d noData) Problem() error { return nil }
