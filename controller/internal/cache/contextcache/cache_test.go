// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func (w *world) ingress(tb testing.TB, name string, hosts ...string) {
	tb.Helper()
	rules := []any{}
	for _, host := range hosts {
		rules = append(rules, map[string]any{"host": host})
	}
	w.create(tb, ingresses, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
		"metadata": map[string]any{"name": name, "namespace": w.name}, "spec": map[string]any{"rules": rules},
	}})
}

func TestResourceOfSourceDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ingress(t, "a", "a.example", "b.example")
	id := w.entry(t, cachedEntries, "ingress", `
resource:
  group: "apis/networking.k8s.io"
  version: "v1"
  kind: "ingresses"
  namespace: `+w.name)
	cache := w.cache(t)
	hosts := policy.Query{Entry: id, Alias: "ingresses", Expression: "ingresses | items[].spec.rules[].host"}
	gets(t, cache, hosts, []any{"a.example", "b.example"})
	isReady(t, cache)
	w.ingress(t, "b", "c.example")
	gets(t, cache, hosts, []any{"a.example", "b.example", "c.example"})
	testkit.NoError(t, w.at(ingresses, w.name).Delete(t.Context(), "a", metav1.DeleteOptions{}))
	gets(t, cache, hosts, []any{"c.example"})

	status := w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)
	if *status.Resource != (contextcache.StatusResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}) || status.ObservedGeneration != 1 ||
		status.LastRefreshTime == nil || status.Objects == nil || status.Bytes == nil {
		t.Errorf("%+v", status)
	}
	for _, name := range []string{"objects", "bytes", "queries_total", "refreshes_total"} {
		w.grows(t, 0, name)
	}
	w.grows(t, 0, "age_seconds", id.Name)
}

func TestInlineDeclarations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", map[string]any{"k": "1"})
	w.configMap(t, "two", map[string]any{"k": "2"})
	cache := w.cache(t)
	in := "/api/v1/namespaces/" + w.name
	names := "items[].metadata.name"
	resource := policy.Entry{Resource: policy.EntryResource{Kind: "ConfigMap", Namespace: w.name}}
	list, one := policy.Entry{Path: in + "/configmaps"}, policy.Entry{Path: in + "/configmaps/one"}
	selected, none := policy.Entry{Path: in + "/configmaps?labelSelector=l%3Dtwo"}, policy.Entry{Path: in + "/configmaps/none"}
	namespace, polled := policy.Entry{Path: in}, policy.Entry{Path: in + "/configmaps?limit=1"}
	cache.Want([]policy.Entry{resource, list, one, selected, none, namespace, polled, {Kind: policy.CachedContextEntry, Name: "unused"}})
	isReady(t, cache)
	gets(t, cache, policy.Query{Entry: resource, Expression: names}, []any{"one", "two"})
	gets(t, cache, policy.Query{Entry: list, Expression: names}, []any{"one", "two"})
	gets(t, cache, policy.Query{Entry: one, Expression: "data"}, map[string]any{"k": "1"})
	gets(t, cache, policy.Query{Entry: one, Alias: "cm", Expression: "cm.kind"}, "ConfigMap")
	gets(t, cache, policy.Query{Entry: selected, Expression: names}, []any{"two"})
	refuses(t, cache, policy.Query{Entry: none}, `configmaps "none" not found`)
	gets(t, cache, policy.Query{Entry: namespace, Expression: "metadata.name"}, w.name)
	gets(t, cache, policy.Query{Entry: polled, Expression: "items[].metadata.name"}, []any{"one"})

	testkit.Must(w.at(configMaps, w.name).Patch(t.Context(), "one", types.MergePatchType, []byte(`{"data":{"k":"3"}}`), metav1.PatchOptions{}))(t)
	gets(t, cache, policy.Query{Entry: one, Expression: "data"}, map[string]any{"k": "3"})
	gets(t, cache, policy.Query{Entry: resource, Expression: "items[?data.k=='3'].metadata.name"}, []any{"one"})
	w.configMap(t, "none", map[string]any{"k": "4"})
	gets(t, cache, policy.Query{Entry: none, Expression: "data.k"}, "4")
}

func TestEntryThatNobodyDeclaredIsLoadedWhenAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", nil)
	cache := w.cache(t)
	id := policy.Entry{Resource: policy.EntryResource{Group: "api", Version: "v1", Kind: "configmaps", Namespace: w.name}}
	got, err := query(t, cache, policy.Query{Entry: id, Expression: "length(items)"})
	if err != nil || got != 1.0 {
		t.Fatal(got, err)
	}
}

func TestGlobalContextEntryIsABareArrayWithProjections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", map[string]any{"k": "1"})
	w.configMap(t, "two", map[string]any{"k": "2"})
	id := w.entry(t, globalEntries, "maps", `
kubernetesResource: {version: v1, resource: configmaps, namespace: `+w.name+`}
projections: [{name: keys, jmesPath: "[].data.k"}]`)
	cache := w.cache(t)
	gets(t, cache, policy.Query{Entry: id, Expression: "[].metadata.name"}, []any{"one", "two"})
	gets(t, cache, policy.Query{Entry: id, Projection: "keys"}, []any{"1", "2"})
	gets(t, cache, policy.Query{Entry: id, Projection: "keys", Expression: "[?@=='2'] | [0]"}, "2")
	refuses(t, cache, policy.Query{Entry: id, Projection: "other"}, "no projection", "spec.projections")
	asCached := policy.Entry{Kind: policy.CachedContextEntry, Name: id.Name}
	gets(t, cache, policy.Query{Entry: asCached, Expression: "items[].metadata.name"}, []any{"one", "two"})
	w.shows(t, globalEntries, id, contextcache.ReasonLoaded)
}

func TestExpressionThatCannotBeUnderstood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := w.entry(t, cachedEntries, "good", "resource: {kind: configmaps, namespace: "+w.name+"}")
	bad := w.entry(t, globalEntries, "bad", `
kubernetesResource: {version: v1, resource: configmaps}
projections: [{name: keys, jmesPath: "[].data.["}]`)
	cache := w.cache(t)
	errorsBefore := w.metric(t, "queries_total", "error")
	refuses(t, cache, policy.Query{Entry: good, Expression: "items["}, good.Name, "items[")
	refuses(t, cache, policy.Query{Entry: bad, Expression: "@"}, "spec.projections[0].jmesPath")
	w.shows(t, cachedEntries, good, contextcache.ReasonLoaded)
	w.shows(t, globalEntries, bad, contextcache.ReasonInvalid, "spec.projections[0].jmesPath")
	w.grows(t, errorsBefore, "queries_total", "error")
}

func TestEntryIsDeletedWhileInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cache := w.cache(t)
	id := policy.Entry{Kind: policy.CachedContextEntry, Name: w.name + "-e"}
	refuses(t, cache, policy.Query{Entry: id}, id.Name, "create it")
	w.entry(t, cachedEntries, "e", "resource: {kind: configmaps, namespace: "+w.name+"}")
	gets(t, cache, policy.Query{Entry: id, Expression: "kind"}, "ConfigMapList")
	testkit.NoError(t, w.at(cachedEntries, "").Delete(t.Context(), id.Name, metav1.DeleteOptions{}))
	refuses(t, cache, policy.Query{Entry: id}, "there is no CachedContextEntry", "create it")
}

// told collects the calls of a subscriber.
type told struct {
	mu      sync.Mutex
	entries map[policy.Entry]bool
}

func (s *told) tell(entries []policy.Entry, urgent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range entries {
		s.entries[id] = s.entries[id] || urgent
	}
}

// forget starts from nothing.
func (s *told) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = map[policy.Entry]bool{}
}

func (s *told) awaits(tb testing.TB, urgent bool, all ...policy.Entry) {
	tb.Helper()
	eventually(tb, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, id := range all {
			if got, found := s.entries[id]; !found || got != urgent {
				return fmt.Errorf("%+v: told %v, urgent %v; all is %v", id, found, got, s.entries)
			}
		}
		return nil
	})
}

func TestSubscribersAreToldOfChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ingress(t, "a", "a.example")
	subscriber := &told{entries: map[policy.Entry]bool{}}
	cache := w.cache(t)
	defer cache.Subscribe(subscriber.tell)()
	inline := policy.Entry{Resource: policy.EntryResource{Group: "networking.k8s.io", Kind: "Ingress", Namespace: w.name}}
	cache.Want([]policy.Entry{inline})
	id := w.entry(t, cachedEntries, "e", "resource: {kind: ingress, namespace: "+w.name+"}")
	forms := []policy.Entry{
		inline, id, {Kind: policy.GlobalContextEntry, Name: id.Name},
		{Kind: policy.CachedContextEntry, Name: policy.AnyName}, {Kind: policy.GlobalContextEntry, Name: policy.AnyName},
	}
	subscriber.awaits(t, true, forms[:2]...)
	gets(t, cache, policy.Query{Entry: id, Expression: "length(items)"}, 1.0)
	patch := func(text string, sub ...string) {
		t.Helper()
		testkit.Must(w.at(ingresses, w.name).Patch(t.Context(), "a", types.MergePatchType, []byte(text), metav1.PatchOptions{}, sub...))(t)
	}
	subscriber.forget()
	patch(`{"spec":{"rules":[{"host":"b.example"}]}}`)
	subscriber.awaits(t, true, forms...)
	gets(t, cache, policy.Query{Entry: id, Expression: "items[].spec.rules[].host"}, []any{"b.example"})

	subscriber.forget()
	patch(`{"status":{"loadBalancer":{"ingress":[{"ip":"10.1.2.3"}]}}}`, "status")
	subscriber.awaits(t, false, forms...)

	subscriber.forget()
	w.entry(t, cachedEntries, "bad", "resource: {kind: nothing}")
	subscriber.awaits(t, true, policy.Entry{Kind: policy.CachedContextEntry, Name: w.name + "-bad"})
	names := make([]policy.Entry, 0, len(subscriber.entries))
	for name := range subscriber.entries {
		names = append(names, name)
	}
	if slices.Contains(names, id) {
		t.Errorf("an entry that did not change is in %v", names)
	}
}
