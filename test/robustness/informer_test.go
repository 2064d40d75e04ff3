// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package robustness_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// converge is how long informers may take: they wait longer and longer before they try again.
const converge = 90 * time.Second

// informer is one of client-go, with a handler.
type informer struct {
	store cache.Store

	mu sync.Mutex
	// handled are the objects as the handler was told of them.
	handled map[string]*unstructured.Unstructured
}

// inform starts an informer that ends with the test, and waits until it has all objects.
func (s *server) inform(t *testing.T) *informer {
	t.Helper()
	factory := dynamicinformer.NewDynamicSharedInformerFactory(s.client, 0)
	shared := factory.ForResource(policyReports).Informer()
	i := &informer{store: shared.GetStore(), handled: map[string]*unstructured.Unstructured{}}
	set := func(object any) {
		i.mu.Lock()
		defer i.mu.Unlock()
		u := object.(*unstructured.Unstructured)
		i.handled[u.GetName()] = u
	}
	handler := testkit.Must(shared.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    set,
		UpdateFunc: func(_, now any) { set(now) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			i.mu.Lock()
			defer i.mu.Unlock()
			delete(i.handled, object.(*unstructured.Unstructured).GetName())
		},
	}))(t)
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	t.Cleanup(func() {
		cancel()
		factory.Shutdown()
	})
	if !cache.WaitForCacheSync(t.Context().Done(), handler.HasSynced) {
		t.Fatal("the informer got no list")
	}
	return i
}

// difference compares what the informer has, and what its handler was told, with a list.
func (i *informer) difference(list map[string]*unstructured.Unstructured) string {
	stored := map[string]*unstructured.Unstructured{}
	for _, object := range i.store.List() {
		stored[object.(*unstructured.Unstructured).GetName()] = object.(*unstructured.Unstructured)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return cmp.Diff(list, stored) + cmp.Diff(stored, i.handled)
}

// expectEqual waits until all informers have what a list from the server has, object by object, and returns the names.
func (s *server) expectEqual(t *testing.T, informers ...*informer) []string {
	t.Helper()
	list := s.list(t)
	deadline := time.After(converge)
	for n, i := range informers {
		for difference := i.difference(list); difference != ""; difference = i.difference(list) {
			select {
			case <-time.After(50 * time.Millisecond):
			case <-deadline:
				t.Fatalf("informer %d (-list +informer, -informer +handler):\n%s", n, difference)
			}
		}
	}
	return slices.Sorted(maps.Keys(list))
}

func (s *server) list(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	s.retry(t, func(ctx context.Context, client dynamic.ResourceInterface) (err error) {
		list, err = client.List(ctx, metav1.ListOptions{})
		return err
	})
	objects := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		objects[list.Items[i].GetName()] = &list.Items[i]
	}
	return objects
}

// retry calls the server until it gets an answer that is no error.
func (s *server) retry(t *testing.T, call func(ctx context.Context, client dynamic.ResourceInterface) error) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		err := call(t.Context(), s.client.Resource(policyReports).Namespace("default"))
		if err == nil {
			return
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatal(err)
		}
	}
}

// change creates reports, changes some, and deletes some. All are acknowledged.
func (s *server) change(t *testing.T, create, update, remove []string) {
	t.Helper()
	for _, name := range create {
		s.retry(t, func(ctx context.Context, client dynamic.ResourceInterface) error {
			_, err := client.Create(ctx, report(name), metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		})
	}
	for _, name := range update {
		s.retry(t, func(ctx context.Context, client dynamic.ResourceInterface) error {
			object, err := client.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			object.SetLabels(map[string]string{"changed-at": object.GetResourceVersion()})
			_, err = client.Update(ctx, object, metav1.UpdateOptions{})
			return err
		})
	}
	for _, name := range remove {
		s.retry(t, func(ctx context.Context, client dynamic.ResourceInterface) error {
			err := client.Delete(ctx, name, metav1.DeleteOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			return err
		})
	}
}
