// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// The definition of the kind has all that is written: the API server drops what it doesn't know.
func TestStatusIsWhatTheDefinitionHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", nil)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	w.cache(t)
	w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)
	object := testkit.Must(w.at(cachedEntries, "").Get(t.Context(), id.Name, metav1.GetOptions{}))(t)
	for _, path := range [][]string{
		{"observedGeneration"}, {"lastRefreshTime"}, {"resource", "group"}, {"resource", "version"}, {"resource", "resource"}, {"objects"}, {"bytes"},
	} {
		if _, found, err := unstructured.NestedFieldNoCopy(object.Object, append([]string{"status"}, path...)...); !found || err != nil {
			t.Errorf("%v is not in %v, %v", path, object.Object["status"], err)
		}
	}
}

func TestStatusKeepsConditionsOfOthersAndFollowsTheSpec(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	others := []byte(`{"status":{"conditions":[{"type":"Reviewed","status":"True","reason":"R","message":"m","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	testkit.Must(w.at(cachedEntries, "").Patch(t.Context(), id.Name, types.MergePatchType, others, metav1.PatchOptions{}, "status"))(t)
	cache := w.cache(t)
	gets(t, cache, policy.Query{Entry: id, Expression: "kind"}, "ConfigMapList")
	status := w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)
	if len(status.Conditions) != 2 || status.Conditions[0].Type != "Reviewed" {
		t.Errorf("%+v", status.Conditions)
	}
	next := []byte(`{"spec":{"resource":{"kind":"nothing"}}}`)
	testkit.Must(w.at(cachedEntries, "").Patch(t.Context(), id.Name, types.MergePatchType, next, metav1.PatchOptions{}))(t)
	refuses(t, cache, policy.Query{Entry: id}, "nothing")
	status = w.shows(t, cachedEntries, id, contextcache.ReasonInvalid)
	if status.ObservedGeneration != 2 || status.Objects != nil || status.Bytes != nil || status.Resource != nil || status.LastRefreshTime != nil {
		t.Errorf("%+v", status)
	}
}

// hiding leaves a group out of discovery.
type hiding struct {
	discovery.DiscoveryInterface
	group  string
	hidden atomic.Bool
}

func (h *hiding) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	groups, lists, err := h.DiscoveryInterface.ServerGroupsAndResources()
	if !h.hidden.Load() {
		return groups, lists, err
	}
	var rest []*metav1.APIGroup
	for _, group := range groups {
		if group.Name != h.group {
			rest = append(rest, group)
		}
	}
	return rest, lists, err
}

func TestEntriesWorkOnceTheirKindsAreServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", nil)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	kinds := testkit.Must(discovery.NewDiscoveryClientForConfig(w.config))(t)
	lister := &hiding{DiscoveryInterface: kinds, group: policy.KyvernoGroup}
	lister.hidden.Store(true)
	watcher := served.NewWatcher(served.Config{Discovery: lister, Interval: 50 * time.Millisecond})
	go watcher.Run(t.Context())
	cache := w.cache(t, func(c *contextcache.Config) { c.Served = watcher })
	isReady(t, cache)
	inline := policy.Entry{Resource: policy.EntryResource{Kind: "configmaps", Namespace: w.name}}
	gets(t, cache, policy.Query{Entry: inline, Expression: "length(items)"}, 1.0)
	refuses(t, cache, policy.Query{Entry: id}, "the cluster has no such kind", "install its definition")
	lister.hidden.Store(false)
	gets(t, cache, policy.Query{Entry: id, Expression: "length(items)"}, 1.0)
	lister.hidden.Store(true)
	refuses(t, cache, policy.Query{Entry: id}, "the cluster has no such kind")
}

func TestManyQueriesAtATime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	cache := w.cache(t, func(c *contextcache.Config) { c.MemoryLimit = 1 << 30 })
	eventually(t, func() error {
		_, err := query(t, cache, policy.Query{Entry: id})
		return err
	})
	done := make(chan error, 8)
	for range cap(done) {
		go func() {
			for range 200 {
				if _, err := query(t, cache, policy.Query{Entry: id, Expression: "items[].metadata.name"}); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for i := range 10 {
		w.configMap(t, fmt.Sprint("m", i), nil)
		cache.Want([]policy.Entry{{Path: "/api/v1/namespaces/" + w.name}})
		cache.Want(nil)
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	gets(t, cache, policy.Query{Entry: id, Expression: "length(items)"}, 10.0)
}
