// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package imports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/storage"
)

// Storage is a Place below the API: without admission, strategy and generated fields.
type Storage map[schema.GroupResource]Stored

// Stored is a kind and where its objects are stored.
type Stored struct {
	Kind

	*genericregistry.Store
}

var _ Place = Storage{}

// Kinds returns the kinds that are stored, in the order of their names.
func (s Storage) Kinds() []Kind {
	var kinds []Kind
	for _, stored := range s {
		kinds = append(kinds, stored.Kind)
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return strings.Compare(a.GroupResource().String(), b.GroupResource().String()) })
	return kinds
}

// at returns the storage of a kind and the key of an object in it.
func (s Storage) at(ctx context.Context, kind Kind, namespace, name string) (stored Stored, key string, err error) {
	stored, ok := s[kind.GroupResource()]
	if !ok {
		return stored, "", apierrors.NewBadRequest(fmt.Sprintf("%s are not served here (--api-groups, --custom-resources)", kind.GroupResource()))
	}
	key, err = stored.KeyFunc(genericapirequest.WithNamespace(ctx, namespace), name)
	return stored, key, err
}

// Get implements Place.
func (s Storage) Get(ctx context.Context, kind Kind, namespace, name string) (Object, error) {
	stored, key, err := s.at(ctx, kind, namespace, name)
	if err != nil {
		return nil, err
	}
	object := stored.NewFunc()
	if err := stored.Storage.Storage.Get(ctx, key, storage.GetOptions{}, object); err != nil {
		if storage.IsNotFound(err) {
			return nil, nil // No object is an answer, not an error.
		}
		return nil, err
	}
	found, _ := object.(Object)
	return found, nil
}

// Create implements Place.
func (s Storage) Create(ctx context.Context, kind Kind, object Object) error {
	stored, key, err := s.at(ctx, kind, object.GetNamespace(), object.GetName())
	if err != nil {
		return err
	}
	err = stored.Storage.Storage.Create(ctx, key, object.DeepCopyObject(), stored.NewFunc(), 0)
	if storage.IsExist(err) {
		return ErrChanged
	}
	return err
}

// Update implements Place.
func (s Storage) Update(ctx context.Context, kind Kind, current, object Object) error {
	stored, key, err := s.at(ctx, kind, object.GetNamespace(), object.GetName())
	if err != nil {
		return err
	}
	version := current.GetResourceVersion()
	err = stored.Storage.Storage.GuaranteedUpdate(ctx, key, stored.NewFunc(), false, nil,
		func(before runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
			if found, ok := before.(Object); !ok || found.GetResourceVersion() != version {
				return nil, nil, ErrChanged
			}
			return object.DeepCopyObject(), nil, nil
		}, nil)
	if storage.IsNotFound(err) {
		return ErrChanged
	}
	return err
}

// Delete implements Place. It ignores finalizers: the object still exists where it came from,
// or was deleted there.
func (s Storage) Delete(ctx context.Context, kind Kind, current Object) error {
	stored, key, err := s.at(ctx, kind, current.GetNamespace(), current.GetName())
	if err != nil {
		return err
	}
	uid, version := current.GetUID(), current.GetResourceVersion()
	err = stored.Storage.Storage.Delete(ctx, key, stored.NewFunc(), &storage.Preconditions{UID: &uid, ResourceVersion: &version},
		func(context.Context, runtime.Object) error { return nil }, nil, storage.DeleteOptions{})
	var broken *storage.StorageError
	if storage.IsNotFound(err) || errors.As(err, &broken) && broken.Code == storage.ErrCodeInvalidObj {
		return ErrChanged
	}
	return err
}
