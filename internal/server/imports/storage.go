// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/reports/registry"
)

// Storage is a Place below the API: without admission, strategy and generated fields.
type Storage map[schema.GroupResource]*registry.REST

var _ Place = Storage{}

// StorageOf returns the storage of what is served.
func StorageOf(served []*registry.REST) Storage {
	found := Storage{}
	for _, one := range served {
		found[one.DefaultQualifiedResource] = one
	}
	return found
}

// at returns the storage of a kind and the key of a report in it.
func (s Storage) at(ctx context.Context, kind registry.Kind, namespace, name string) (storage.Interface, string, error) {
	r, ok := s[kind.GroupResource()]
	if !ok {
		return nil, "", apierrors.NewBadRequest(fmt.Sprintf("%s are not served here (--api-groups)", kind.GroupResource()))
	}
	key, err := r.KeyFunc(genericapirequest.WithNamespace(ctx, namespace), name)
	return r.Storage.Storage, key, err
}

// Get implements Place.
func (s Storage) Get(ctx context.Context, kind registry.Kind, namespace, name string) (report.Accessor, error) {
	store, key, err := s.at(ctx, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	object := kind.New()
	if err := store.Get(ctx, key, storage.GetOptions{}, object); err != nil {
		if storage.IsNotFound(err) {
			return nil, nil // No report is an answer, not an error.
		}
		return nil, err
	}
	found, _ := report.Of(object)
	return found, nil
}

// Create implements Place.
func (s Storage) Create(ctx context.Context, kind registry.Kind, object report.Accessor) error {
	store, key, err := s.at(ctx, kind, object.GetNamespace(), object.GetName())
	if err != nil {
		return err
	}
	err = store.Create(ctx, key, object.DeepCopyObject(), kind.New(), 0)
	if storage.IsExist(err) {
		return ErrChanged
	}
	return err
}

// Update implements Place.
func (s Storage) Update(ctx context.Context, kind registry.Kind, current, object report.Accessor) error {
	store, key, err := s.at(ctx, kind, object.GetNamespace(), object.GetName())
	if err != nil {
		return err
	}
	version := current.GetResourceVersion()
	err = store.GuaranteedUpdate(ctx, key, kind.New(), false, nil,
		func(stored runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
			if found, ok := report.Of(stored); !ok || found.GetResourceVersion() != version {
				return nil, nil, ErrChanged
			}
			return object.DeepCopyObject(), nil, nil
		}, nil)
	if storage.IsNotFound(err) {
		return ErrChanged
	}
	return err
}

// Delete implements Place. It ignores finalizers: the report still exists where it came from,
// or was deleted there.
func (s Storage) Delete(ctx context.Context, kind registry.Kind, current report.Accessor) error {
	store, key, err := s.at(ctx, kind, current.GetNamespace(), current.GetName())
	if err != nil {
		return err
	}
	uid, version := current.GetUID(), current.GetResourceVersion()
	err = store.Delete(ctx, key, kind.New(), &storage.Preconditions{UID: &uid, ResourceVersion: &version},
		func(context.Context, runtime.Object) error { return nil }, nil, storage.DeleteOptions{})
	var broken *storage.StorageError
	if storage.IsNotFound(err) || errors.As(err, &broken) && broken.Code == storage.ErrCodeInvalidObj {
		return ErrChanged
	}
	return err
}
