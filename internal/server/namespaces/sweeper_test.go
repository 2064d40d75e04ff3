// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/namespaces"
)

// sweptResource is what the sweeper of the tests has to look at.
func sweptResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
}

// sweepWorld is a cluster and a server of things, both in memory.
type sweepWorld struct {
	cluster *fake.Clientset
	things  *metadatafake.FakeMetadataClient
	swept   atomic.Int64
}

func at(seconds int64) metav1.Time { return metav1.NewTime(time.Unix(seconds, 0)) }

func namespaceAt(name string, uid types.UID, created int64) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, CreationTimestamp: at(created)}}
}

func thing(namespace, name string, created int64) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Thing"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name), CreationTimestamp: at(created)},
	}
}

// startSweeper runs a sweeper for a cluster with the namespace "a", and things in "a", in
// "b", which never was, and in others.
func startSweeper(t *testing.T, change func(*sweepWorld)) *sweepWorld {
	t.Helper()
	scheme := runtime.NewScheme()
	testkit.NoError(t, metav1.AddMetaToScheme(scheme))
	w := &sweepWorld{
		cluster: fake.NewClientset(namespaceAt("a", "first", 100)),
		things:  metadatafake.NewSimpleMetadataClient(scheme, thing("a", "old", 110), thing("a", "same", 200), thing("a", "new", 210), thing("b", "stranger", 50)),
	}
	if change != nil {
		change(w)
	}
	watching := make(chan struct{})
	var begun sync.Once
	w.cluster.PrependWatchReactor("namespaces", func(action clienttesting.Action) (bool, watch.Interface, error) {
		defer begun.Do(func() { close(watching) })
		events, err := w.cluster.Tracker().Watch(action.GetResource(), "")
		return true, events, err
	})
	factory := informers.NewSharedInformerFactory(w.cluster, 0)
	sweeper := testkit.Must(namespaces.NewSweeper(namespaces.SweeperConfig{
		Cluster: w.cluster, Namespaces: factory.Core().V1().Namespaces(), Objects: w.things,
		Resources: func() []schema.GroupVersionResource { return []schema.GroupVersionResource{sweptResource()} }, Swept: func(n int) { w.swept.Add(int64(n)) },
	}))(t)
	factory.StartWithContext(t.Context())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSyncWithContext(t.Context())
	<-watching // The fake has no history: a change between list and watch would be lost.
	testkit.Run(t, "the sweeper", sweeper.Run)
	return w
}

func (w *sweepWorld) end(t *testing.T) {
	t.Helper()
	testkit.NoError(t, w.cluster.CoreV1().Namespaces().Delete(t.Context(), "a", metav1.DeleteOptions{}))
}

// wantLeft waits until exactly the named things are left in all namespaces.
func (w *sweepWorld) wantLeft(t *testing.T, want ...string) {
	t.Helper()
	testkit.Succeeds(t, "these things are left", func() error {
		list, err := w.things.Resource(sweptResource()).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var got []string
		for i := range list.Items {
			got = append(got, list.Items[i].Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			return fmt.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
		}
		return nil
	})
}

// TestSweep: remaining objects are deleted, except in namespaces whose end nobody has seen.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := startSweeper(t, nil)
	w.end(t)
	w.wantLeft(t, "stranger")
	if got := w.swept.Load(); got > 3 {
		t.Errorf("%d things are said to be swept, want 3", got)
	}
}

// TestSweepOfSuccessor: a namespace that was recreated keeps what is its own.
func TestSweepOfSuccessor(t *testing.T) {
	t.Parallel()
	w := startSweeper(t, func(w *sweepWorld) {
		// The successor is there by the time the cluster is asked.
		w.cluster.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, namespaceAt("a", "second", 200), nil
		})
	})
	w.end(t)
	w.wantLeft(t, "new", "same", "stranger")
}

// TestSweepOfReplaced: whose end a broken watch has hidden is known by the UID of the successor.
func TestSweepOfReplaced(t *testing.T) {
	t.Parallel()
	w := startSweeper(t, nil)
	testkit.NoError(t, w.cluster.Tracker().Update(corev1.SchemeGroupVersion.WithResource("namespaces"), namespaceAt("a", "second", 200), ""))
	w.wantLeft(t, "new", "same", "stranger")
}

// TestSweepUnsure: nothing is deleted unless the cluster itself says that the namespace is
// gone; then all is, however long that took.
func TestSweepUnsure(t *testing.T) {
	t.Parallel()
	answers := []error{
		errors.New("connection refused"),
		apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "a", nil),
		apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Resource: "namespaces"}, "a", "nginx", 0, true),
	}
	var asked, deletedBefore atomic.Int64
	w := startSweeper(t, func(w *sweepWorld) {
		w.cluster.PrependReactor("get", "namespaces", func(clienttesting.Action) (bool, runtime.Object, error) {
			if n := int(asked.Add(1)) - 1; n < len(answers) {
				return true, nil, answers[n]
			}
			return false, nil, nil
		})
		w.things.PrependReactor("delete", "things", func(clienttesting.Action) (bool, runtime.Object, error) {
			if int(asked.Load()) <= len(answers) {
				deletedBefore.Add(1)
			}
			return false, nil, nil
		})
	})
	w.end(t)
	w.wantLeft(t, "stranger")
	if n := deletedBefore.Load(); n > 0 {
		t.Errorf("%d things were deleted while it was unsure whether the namespace is gone", n)
	}
}
