// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	storeerrors "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/docket-project/docket/internal/reports/kinds"
)

// parent is what namespaces share with all kinds: everything except for deleting one or
// many.
type parent interface {
	rest.Scoper
	rest.Lister
	rest.Watcher
	rest.Patcher
	rest.Creater
	rest.ShortNamesProvider
	rest.CategoriesProvider
	rest.SingularNameProvider
	rest.ResetFieldsStrategy
	rest.StorageVersionProvider
	rest.StorageWithReadiness
}

// namespaces deletes a namespace in two steps: first it is marked; once it has been
// emptied and its finalizers are gone, it is gone too.
type namespaces struct {
	parent

	store *genericregistry.Store
}

var _ rest.GracefulDeleter = &namespaces{}

// newNamespaces returns namespaces and their subresource finalize.
func newNamespaces(from *kinds.REST[object]) (*namespaces, *finalization) {
	from.ShouldDeleteDuringUpdate = func(_ context.Context, _ string, object, _ runtime.Object) bool {
		namespace, ok := object.(*corev1.Namespace)
		return ok && len(namespace.Spec.Finalizers) == 0
	}
	from.ReturnDeletedObject = true
	finalize := from.Subresource(kinds.Part[object]{Keep: keepAllBut(specPart), ResetFields: []string{"status"}})
	return &namespaces{parent: from, store: from.Store}, &finalization{updatable: finalize}
}

// updatable is what a subresource without GET and PATCH shares with others.
type updatable interface {
	rest.Updater
	rest.ResetFieldsStrategy
	rest.TableConvertor
	Destroy()
}

// finalization changes the finalizers of namespaces.
type finalization struct{ updatable }

// permanent is true for namespaces that everything relies on.
func permanent(name string) bool {
	switch name {
	case metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic:
		return true
	}
	return false
}

// errEmpty says that nothing holds a namespace any longer.
var errEmpty = errors.New("the namespace has no finalizers")

// Delete implements rest.GracefulDeleter. It returns true if the namespace is gone, and
// false if it is marked.
func (n *namespaces) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	resource := n.store.DefaultQualifiedResource
	if permanent(name) {
		return nil, false, apierrors.NewForbidden(resource, name, fmt.Errorf("%s can't be deleted", name))
	}
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	if validate == nil {
		validate = rest.ValidateAllObjectFunc
	}
	key, err := n.store.KeyFunc(ctx, name)
	if err != nil {
		return nil, false, err
	}
	var preconditions storage.Preconditions
	if options.Preconditions != nil {
		preconditions.UID, preconditions.ResourceVersion = options.Preconditions.UID, options.Preconditions.ResourceVersion
	}
	marked := &corev1.Namespace{}
	mark := storage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
		return n.mark(ctx, existing, validate, options)
	})
	err = n.store.Storage.GuaranteedUpdate(ctx, key, marked, false, &preconditions, mark, dryrun.IsDryRun(options.DryRun), nil)
	switch {
	case errors.Is(err, errEmpty):
		return n.store.Delete(ctx, name, validate, options)
	case err != nil:
		return nil, false, storeerrors.InterpretUpdateError(err, resource, name)
	}
	return marked, false, nil
}

// mark returns the namespace as it is stored while it is being emptied.
func (n *namespaces) mark(ctx context.Context, existing runtime.Object, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, error) {
	namespace, ok := existing.(*corev1.Namespace)
	if !ok {
		return nil, fmt.Errorf("object is a %T, not a namespace", existing)
	}
	if _, _, err := rest.BeforeDelete(n.store.DeleteStrategy, ctx, namespace, options); err != nil {
		return nil, err
	}
	if err := validate(ctx, namespace.DeepCopy()); err != nil {
		return nil, err
	}
	if len(namespace.Spec.Finalizers) == 0 {
		return nil, errEmpty
	}
	if namespace.DeletionTimestamp.IsZero() {
		now := metav1.Now()
		namespace.DeletionTimestamp = &now
	}
	namespace.Status.Phase = corev1.NamespaceTerminating
	return namespace, nil
}

// DeleteReturnsDeletedObject implements rest.MayReturnFullObjectDeleter: the answer to the deletion of a
// namespace shows that it still exists.
func (*namespaces) DeleteReturnsDeletedObject() bool { return true }
