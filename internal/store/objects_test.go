// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/storetest"
)

// versionCodec stores objects as v1 and gives them out in another version.
type versionCodec struct {
	runtime.Codec
	version string
}

func (c versionCodec) Decode(data []byte, kind *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	object, got, err := c.Codec.Decode(data, kind, into)
	if u, ok := object.(*unstructured.Unstructured); ok {
		u.SetAPIVersion("example.com/" + c.version)
	}
	return object, got, err
}

func (c versionCodec) Encode(object runtime.Object, w io.Writer) error {
	stored := object.DeepCopyObject().(*unstructured.Unstructured)
	stored.SetAPIVersion("example.com/v1")
	return c.Codec.Encode(stored, w)
}

// widgets returns the storage of a custom resource in one of its versions.
func widgets(t *testing.T, getter generic.RESTOptionsGetter, version string) storage.Interface {
	t.Helper()
	options := testkit.Must(getter.GetRESTOptions(schema.GroupResource{Group: "example.com", Resource: "widgets"}, nil))(t)
	options.StorageConfig.Codec = versionCodec{unstructured.UnstructuredJSONScheme, version}
	newObject := func() runtime.Object { return &unstructured.Unstructured{} }
	newList := func() runtime.Object { return &unstructured.UnstructuredList{} }
	s, destroy, err := options.Decorator(options.StorageConfig, options.ResourcePrefix, nil, newObject, newList, storage.DefaultNamespaceScopedAttr, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(destroy)
	return s
}

// TestManyVersions: readers of two versions of one object each get their own, from
// reads that come one after the other and from watches of the same event.
func TestManyVersions(t *testing.T) {
	t.Parallel()
	getter := storetest.Start(t, store.Options{Engine: openSQLite(t)}).ObjectsGetter(unstructured.UnstructuredJSONScheme)
	v1, v2 := widgets(t, getter, "v1"), widgets(t, getter, "v2")
	const key = "/example.com/widgets/ns/a"
	versions := map[string]storage.Interface{"example.com/v1": v1, "example.com/v2": v2}
	watches := map[string]watch.Interface{}
	for version, s := range versions {
		w := testkit.Must(s.Watch(t.Context(), "/example.com/widgets", storage.ListOptions{Recursive: true, Predicate: storage.Everything}))(t)
		t.Cleanup(w.Stop)
		watches[version] = w
	}
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	object.SetName("a")
	object.SetNamespace("ns")
	testkit.NoError(t, v1.Create(t.Context(), key, object, &unstructured.Unstructured{}, 0))
	for version, w := range watches {
		event := <-w.ResultChan()
		if got, ok := event.Object.(*unstructured.Unstructured); !ok || event.Type != watch.Added || got.GetAPIVersion() != version {
			t.Errorf("a watch of %s got %s %v", version, event.Type, event.Object)
		}
	}
	for range 2 {
		for version, s := range versions {
			got := &unstructured.Unstructured{}
			if err := s.Get(t.Context(), key, storage.GetOptions{}, got); err != nil || got.GetAPIVersion() != version {
				t.Errorf("a reader of %s got %s, %v", version, got.GetAPIVersion(), err)
			}
		}
	}
}

// TestNamespaces: each namespace once, however many objects it has, and also those
// whose names begin alike.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	s := storetest.Start(t, store.Options{Engine: openSQLite(t)})
	things := schema.GroupResource{Group: "g", Resource: "things"}
	r := s.Resource(store.ResourceConfig{
		GroupResource: things, Prefix: "/g/things/", Codec: unstructured.UnstructuredJSONScheme, ManyVersions: true,
		NewFunc:     func() runtime.Object { return &unstructured.Unstructured{} },
		NewListFunc: func() runtime.Object { return &unstructured.UnstructuredList{} },
	})
	want := []string{"a", "a-b", "a0", "z"}
	for _, namespace := range want {
		for _, name := range []string{"x", "y", "z.9"} {
			object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Thing"}}
			object.SetName(name)
			testkit.NoError(t, r.Create(t.Context(), "/g/things/"+namespace+"/"+name, object, &unstructured.Unstructured{}, 0))
		}
	}
	got := testkit.Must(s.Namespaces(t.Context(), []schema.GroupResource{things}))(t)
	testkit.NoDiff(t, cmp.Diff(want, got), "namespaces (-want +got)")
}

// TestTimesAreAsStored: what a reader gets from memory has the times that it would have from the database, which has
// whole seconds.
func TestTimesAreAsStored(t *testing.T) {
	t.Parallel()
	r := newReports(t)
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 999_999_999, time.Local)) // As decoded times are.
	in, out, got := emptyReport(), emptyReport(), emptyReport()
	in.SetNamespace("ns")
	in.SetName("a")
	in.SetCreationTimestamp(now)
	in.SetDeletionTimestamp(&now)
	in.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "a", Operation: metav1.ManagedFieldsOperationApply, Time: &now}})
	testkit.NoError(t, r.Create(t.Context(), key("a"), in, out, 0))
	testkit.NoError(t, r.Get(t.Context(), key("a"), storage.GetOptions{}, got))
	want := now.Truncate(time.Second)
	for what, report := range map[string]*policyReport{"answer": out, "object": got} {
		if created, deleted, managed := report.CreationTimestamp.Time, report.DeletionTimestamp.Time, report.ManagedFields[0].Time.Time; !created.Equal(want) || !deleted.Equal(want) || !managed.Equal(want) {
			t.Errorf("%s: created %v, deleted %v, managed %v, want %v", what, created, deleted, managed, want)
		}
	}
	if !in.CreationTimestamp.Equal(&now) || !in.ManagedFields[0].Time.Equal(&now) {
		t.Error("the writer's object was changed")
	}
}
