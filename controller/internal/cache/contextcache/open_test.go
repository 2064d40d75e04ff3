// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// of returns a query of a policy in a namespace.
func of(namespace string, entry policy.Entry) policy.Query {
	return policy.Query{Entry: entry, Expression: "length(@)", Namespace: namespace}
}

// TestEntriesAreClosedToNamespacedPolicies until their author opens them; an entry that a policy declares
// itself is limited to its own namespace, whatever checks came before.
func TestEntriesAreClosedToNamespacedPolicies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.large(t, configMaps, "m", 10)
	closed := w.entry(t, cachedEntries, "closed", w.maps("configmaps"))
	cache := w.cache(t)
	if _, err := query(t, cache, of("", closed)); err != nil {
		t.Error(err)
	}
	refuses(t, cache, of("team", closed), "not open", "spec.allowNamespacedPolicies")
	refuses(t, cache, of("team", policy.Entry{Kind: policy.GlobalContextEntry, Name: closed.Name}), "not open")
	w.patch(t, cachedEntries, closed.Name, `{"spec":{"allowNamespacedPolicies":true}}`)
	gets(t, cache, policy.Query{Entry: closed, Expression: "length(items)", Namespace: "team"}, 1.0)
	w.patch(t, cachedEntries, closed.Name, `{"spec":{"allowNamespacedPolicies":null}}`)
	refuses(t, cache, of("team", closed), "not open")
	for _, entry := range []policy.Entry{
		{Resource: policy.EntryResource{Version: "v1", Kind: "configmaps"}}, {Resource: policy.EntryResource{Version: "v1", Kind: "configmaps", Namespace: "other"}},
		{Path: "/api/v1/configmaps?x=/namespaces/team/"}, {Path: "/api/v1/namespaces/other/configmaps"},
	} {
		refuses(t, cache, of("team", entry), "own namespace")
	}
	global := w.entry(t, globalEntries, "global", "{kubernetesResource: {version: v1, resource: namespaces}}")
	refuses(t, cache, of("team", global), "not open", policy.AllowNamespacedPolicies)
	w.patch(t, globalEntries, global.Name, `{"metadata":{"annotations":{"`+policy.AllowNamespacedPolicies+`":"true"}}}`)
	gets(t, cache, policy.Query{Entry: global, Expression: "length(@) > `0`", Namespace: "team"}, true)
}

// TestStaticEntriesAreClosedToNamespacedPolicies: the same without a cluster.
func TestStaticEntriesAreClosedToNamespacedPolicies(t *testing.T) {
	t.Parallel()
	static, err := contextcache.NewStatic(contextcache.Config{Engine: engine()}, documents(t, staticResources), read(t, staticEntries+`
---
{apiVersion: kyverno.io/v2alpha1, kind: CachedContextEntry, metadata: {name: open}, spec: {allowNamespacedPolicies: true, resource: {kind: Ingress}}}
---
{apiVersion: kyverno.io/v2alpha1, kind: CachedContextEntry, metadata: {name: unclear}, spec: {allowNamespacedPolicies: "yes", resource: {kind: Ingress}}}`))
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) policy.Entry { return policy.Entry{Kind: policy.CachedContextEntry, Name: name} }
	if _, err := query(t, static, of("team", named("open"))); err != nil {
		t.Error(err)
	}
	refuses(t, static, of("team", named("ingress")), "not open")
	refuses(t, static, of("", named("unclear")), "neither true nor false")
	refuses(t, static, of("team", policy.Entry{Resource: policy.EntryResource{Kind: "Ingress", Namespace: "other"}}), "own namespace")
}

func (w *world) patch(t *testing.T, resource schema.GroupVersionResource, name, patch string) {
	t.Helper()
	testkit.Must(w.client.Resource(resource).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
}
