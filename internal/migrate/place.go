// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/imports"
	"github.com/docket-project/docket/internal/registry"
)

// local is the reports in a database that this process has opened.
type local struct {
	storage  imports.Storage
	importer *imports.Importer
	retry    *retrier
}

var _ destination = (*local)(nil)

func newLocal(place imports.Storage, retry *retrier) *local {
	return &local{place, imports.New(place, imports.Exact, retry.clock), retry}
}

func (*local) scope() imports.Scope { return imports.Exact }

func (l *local) list(ctx context.Context, kind registry.Kind, whole bool) entries {
	return l.listAt(ctx, kind, whole, nil)
}

func (l *local) listAt(ctx context.Context, kind registry.Kind, whole bool, version *string) entries {
	return func(yield func(*entry, error) bool) {
		served, ok := l.storage[kind.GroupResource()]
		if !ok {
			yield(nil, fmt.Errorf("%s are not served from this database", kind.GroupResource()))
			return
		}
		predicate := storage.Everything
		predicate.Limit = pageSize
		for first := true; first || predicate.Continue != ""; first = false {
			list := kind.NewList()
			err := served.Storage.Storage.GetList(ctx, served.KeyRootFunc(ctx), storage.ListOptions{Predicate: predicate, Recursive: true}, list)
			if err != nil {
				yield(nil, fmt.Errorf("list %s: %w", kind.GroupResource(), err))
				return
			}
			more := true
			err = meta.EachListItem(list, func(object runtime.Object) error {
				if !more {
					return nil
				}
				e, err := entryOf(object, whole)
				more = yield(e, err) && err == nil
				return nil
			})
			listMeta, metaErr := meta.ListAccessor(list)
			if err != nil || metaErr != nil || !more {
				return
			}
			if first && version != nil {
				*version = listMeta.GetResourceVersion()
			}
			predicate.Continue = listMeta.GetContinue()
		}
	}
}

// entryOf returns the entry of a stored report.
func entryOf(object runtime.Object, whole bool) (*entry, error) {
	found, ok := report.Of(object)
	if !ok {
		return nil, fmt.Errorf("a %T is not a report", object)
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

func (l *local) get(ctx context.Context, kind registry.Kind, namespace, name string) (*entry, error) {
	found, err := l.storage.Get(ctx, kind, namespace, name)
	if err != nil || found == nil {
		return nil, err
	}
	return entryOf(found, true)
}

func (l *local) write(ctx context.Context, request imports.Request) ([]imports.Outcome, error) {
	return writeAll(ctx, l.retry, request, func(request imports.Request) (imports.Response, error) {
		return l.importer.Import(ctx, request), nil
	})
}

// localSource is a database as source. Nobody watches it: see Database.
type localSource struct{ *local }

var _ source = localSource{}

func (l localSource) list(ctx context.Context, kind registry.Kind, whole bool, version *string) entries {
	return l.listAt(ctx, kind, whole, version)
}

func (localSource) watch(context.Context, registry.Kind, string, func(change) error, func(string)) error {
	return errGone
}
