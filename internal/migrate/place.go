// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/server/imports"
	"github.com/docket-project/docket/internal/store"
)

// Place is a database that this process has opened.
type Place struct {
	Store   *store.Store
	Storage imports.Storage
}

// destination returns the database as destination.
func (p Place) destination(retry *retrier) destination {
	return importing(p, p.Storage, p.Storage.Kinds(), imports.Exact, retry)
}

// list implements reader.
func (p Place) list(ctx context.Context, kind imports.Kind, whole bool, version *string) entries {
	return pages(func(token string) (page, error) {
		found, err := p.page(ctx, kind, whole, token)
		if err != nil {
			return page{}, fmt.Errorf("list %s: %w", kind.GroupResource(), err)
		}
		return found, nil
	}, version)
}

// page reads the page of a list that a continue token stands for.
func (p Place) page(ctx context.Context, kind imports.Kind, whole bool, token string) (found page, err error) {
	served, ok := p.Storage[kind.GroupResource()]
	if !ok {
		return page{}, errors.New("they are not served from this database")
	}
	options := storage.ListOptions{Predicate: storage.Everything, Recursive: true}
	options.Predicate.Limit, options.Predicate.Continue = pageSize, token
	list := served.NewListFunc()
	if err := served.Storage.Storage.GetList(ctx, served.KeyRootFunc(ctx), options, list); err != nil {
		return page{}, err
	}
	metadata, err := meta.ListAccessor(list)
	if err != nil {
		return page{}, err
	}
	found.version, found.next, found.remaining = metadata.GetResourceVersion(), metadata.GetContinue(), metadata.GetRemainingItemCount()
	err = meta.EachListItem(list, func(object runtime.Object) error {
		e, err := entryOf(object, whole)
		found.entries = append(found.entries, e)
		return err
	})
	return found, err
}

// get implements reader.
func (p Place) get(ctx context.Context, kind imports.Kind, namespace, name string) (*entry, error) {
	found, err := p.Storage.Get(ctx, kind, namespace, name)
	if err != nil || found == nil {
		return nil, err
	}
	return entryOf(found, true)
}

// entryOf returns the entry of a stored object.
func entryOf(object runtime.Object, whole bool) (*entry, error) {
	found, ok := object.(imports.Object)
	if !ok {
		return nil, fmt.Errorf("a %T has no metadata", object)
	}
	data, err := json.Marshal(metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Namespace: found.GetNamespace(), Name: found.GetName(), UID: found.GetUID(),
		ResourceVersion: found.GetResourceVersion(), Annotations: found.GetAnnotations(),
	}})
	if whole {
		data, err = json.Marshal(object)
	}
	if err != nil {
		return nil, err
	}
	return parseEntry(data, whole)
}
