// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cluster/served"
)

// slow is a store that takes its time to prepare objects.
type slow struct {
	Store

	began, finish chan struct{}
}

// Transformer returns what prepares an object once finish is closed.
func (s *slow) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		s.began <- struct{}{}
		<-s.finish
		return object, nil
	}
}

// TestStopWaitsForLists: once Stop has returned, nothing prepares objects for the store, and nothing will,
// though the reflector doesn't wait for the goroutine that lists for it.
func TestStopWaitsForLists(t *testing.T) {
	t.Parallel()
	resource := served.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Kind: "ConfigMap"}
	one := object("a", "x")
	one.SetAPIVersion("v1")
	one.SetKind(resource.Kind)
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{resource.GroupVersionResource: "ConfigMapList"}, one)
	s := New(Config{Resource: resource, Client: client, Clock: clock.RealClock{}, Changed: func(error) {}})
	store := &slow{Store: newKept(), began: make(chan struct{}, 10), finish: make(chan struct{})}
	s.Start(t.Context(), store)
	<-store.began
	stopped := make(chan struct{})
	go func() {
		s.Stop()
		close(stopped)
	}()
	s.ended.Wait() // From now on, Stop has only the list to wait for.
	select {
	case <-stopped:
		t.Fatal("Stop returned while an object was being prepared")
	case <-time.After(100 * time.Millisecond):
	}
	close(store.finish)
	<-stopped
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.list(ended, store.Transformer()); !errors.Is(err, context.Canceled) {
		t.Errorf("a list that comes after Stop: %v", err)
	}
	if n := len(store.began); n != 0 {
		t.Errorf("a list that comes after Stop prepares %d objects", n)
	}
}
