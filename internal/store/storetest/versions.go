// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// Versions checks that a field that a new version indexes is found in all objects, while the version before writes
// some of them, and that lists go by the index when no such object is left.
func Versions(t *testing.T, open Open) {
	opened := open(t)
	same := func(testing.TB) engine.Engine { return opened }
	older := newPods(t, same, func(o *store.Options) { o.Derivation = 1 })
	for i := range 3 {
		older.createOn(t, fmt.Sprint("before-", i), "node1")
		older.createOn(t, fmt.Sprint("elsewhere-", i), "node2")
	}
	newer := newPods(t, same, func(o *store.Options) { o.Derivation, o.IndexedFields = 2, []string{"spec.nodeName"} })
	want := []string{"before-0", "before-1", "before-2"}
	for i := range 30 {
		writer := []*pods{older, newer}[i%2]
		name := fmt.Sprintf("during-%02d", i)
		writer.createOn(t, name, "node1")
		want = append(want, name)
		if got := newer.on(t, "node1"); !slices.Equal(got, want) {
			t.Fatalf("after %d writes: pods on node1 are %v, want %v", i, got, want)
		}
	}
	older.moveTo(t, "before-1", "node2")
	newer.moveTo(t, "during-04", "node2")
	want = slices.DeleteFunc(want, func(name string) bool { return name == "before-1" || name == "during-04" })
	newer.awaitIndex(t, 2)
	if got := newer.on(t, "node1"); !slices.Equal(got, want) {
		t.Fatalf("by the index: pods on node1 are %v, want %v", got, want)
	}
	if rows := newer.engine.read.Load(); rows != uint64(len(want)) {
		t.Errorf("%d rows were read for %d pods that the index knows", rows, len(want))
	}
}

func (p *pods) createOn(t *testing.T, name, node string) {
	t.Helper()
	pod := &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: example.PodSpec{NodeName: node}}
	if err := p.Create(t.Context(), podKeyRoot+"ns/"+name, pod, nil, 0); err != nil {
		t.Fatal(err)
	}
}

func (p *pods) moveTo(t *testing.T, name, node string) {
	t.Helper()
	move := storage.SimpleUpdate(func(object runtime.Object) (runtime.Object, error) {
		pod := object.(*example.Pod)
		pod.Spec.NodeName = node
		return pod, nil
	})
	if err := p.GuaranteedUpdate(t.Context(), podKeyRoot+"ns/"+name, &example.Pod{}, false, nil, move, nil); err != nil {
		t.Fatal(err)
	}
}

// on returns the names of the pods on a node.
func (p *pods) on(t *testing.T, node string) []string {
	t.Helper()
	p.engine.read.Store(0)
	var list example.PodList
	options := storage.ListOptions{Recursive: true, Predicate: storage.SelectionPredicate{
		Label: labels.Everything(), Field: fields.OneTermEqualSelector("spec.nodeName", node), GetAttrs: podAttributes,
	}}
	if err := p.GetList(t.Context(), podKeyRoot, options, &list); err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// awaitIndex waits until the index of pods is complete at a version.
func (p *pods) awaitIndex(t *testing.T, version engine.Derivation) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		state, err := p.engine.Derivation(ctx, engine.Resource(podKeyRoot))
		if err != nil {
			t.Fatal(err)
		}
		if state.Serves(version) {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
}
