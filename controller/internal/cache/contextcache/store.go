// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cache/table"
)

// growth is how much what is being loaded may grow before the memory limit is looked at again.
const growth = 1 << 20

// store takes the objects of a selection from a source, and makes data of them.
type store struct {
	selection objects.Selection
	engine    *table.Engine
	table     *table.Table
	filter    *table.Filter
	// dataset gets the data; nil without a cluster, where they never change.
	dataset *dataset
	// filled reports whether the data have been complete.
	filled bool
	// err is why they can't be, without a dataset.
	err error
}

var _ objects.Sink = (*store)(nil)

func newStore(engine *table.Engine, of objects.Selection, d *dataset) *store {
	header := table.Header{APIVersion: of.Resource.GroupVersion().String(), Kind: of.Resource.Kind, Plural: of.Resource.Resource}
	return &store{selection: of, engine: engine, table: table.NewTable(engine, header), filter: engine.Filter(of.Filter), dataset: d}
}

// Listing implements [objects.Sink].
func (s *store) Listing() { s.dataset.listing() }

// Changed implements [objects.Sink].
func (s *store) Changed(err error) {
	if s.dataset == nil {
		s.err = err
		return
	}
	if err != nil {
		s.dataset.cache.config.Metrics.failures.WithLabelValues(reasonOf(err)).Inc()
	}
	s.dataset.attempted(err)
}

// Failed implements [objects.Sink].
func (s *store) Failed(string) {
	s.dataset.cache.config.Metrics.refreshes.WithLabelValues(kindResource, resultFailure).Inc()
}

// data returns the list, or a document of the one object that the selection names.
func (s *store) data() (data, error) {
	if s.selection.Name == "" {
		return s.table, nil
	}
	found := s.table.Get(s.selection.Namespace, s.selection.Name)
	if found == nil {
		return table.NoDocument(apierrors.NewNotFound(s.selection.Resource.GroupResource(), s.selection.Name)), nil
	}
	return found.Document(s.engine)
}

// Transformer has the reflector keep what it collects as small as the table does.
func (s *store) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return s.pack(object) }
}

func (s *store) pack(object any) (*table.Packed, error) {
	switch object := object.(type) {
	case *table.Packed:
		return object, nil
	case *unstructured.Unstructured:
		packed, err := s.filter.Pack(object)
		if err == nil && s.dataset != nil {
			s.dataset.grow(packed.Size())
		}
		return packed, err
	default:
		return nil, fmt.Errorf("%s: object of the type %T", s.selection.Resource.GroupResource(), object)
	}
}

// Update takes an object that is new or has changed.
func (s *store) Update(object any) error {
	packed, err := s.pack(object)
	if err != nil {
		return err
	}
	if packed.Dropped() {
		return s.Delete(packed)
	}
	return s.changed(s.table.Put(packed))
}

// Delete takes an object that is gone.
func (s *store) Delete(object any) error {
	packed, err := s.pack(object)
	if err != nil {
		return err
	}
	change := table.None
	if meta := packed.GetObjectMeta(); s.table.Delete(meta.GetNamespace(), meta.GetName()) {
		change = table.Content
	}
	return s.changed(change)
}

// changed is called after one object has come, changed or gone.
func (s *store) changed(change table.Change) error {
	s.dataset.growing.Store(0)
	if s.selection.Name != "" && change != table.None {
		return s.complete(table.Content)
	}
	s.dataset.cache.changes.note(s.dataset, change)
	return nil
}

// Replace takes all objects.
func (s *store) Replace(objects []any, version string) error {
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
	return s.complete(s.table.Replace(packed, version))
}

// complete is called when the data are complete: the first time, or again.
func (s *store) complete(change table.Change) error {
	if s.dataset == nil {
		return nil
	}
	data, err := s.data()
	if err != nil {
		return err
	}
	s.dataset.cache.config.Metrics.refreshes.WithLabelValues(kindResource, resultSuccess).Inc()
	first := !s.filled
	s.filled = true
	s.dataset.refresh(data)
	if !first {
		s.dataset.cache.changes.note(s.dataset, change)
	}
	return nil
}
