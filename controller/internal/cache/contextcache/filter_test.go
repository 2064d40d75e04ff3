// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// data changes the content of a config map.
func (w *world) data(tb testing.TB, name, patch string) {
	tb.Helper()
	testkit.Must(w.at(configMaps, w.name).Patch(tb.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(tb)
}

// TestEntriesKeepWhatIsSelected by the API server and here, while objects come into the selection and leave it.
func TestEntriesKeepWhatIsSelected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, name := range []string{"one", "two", "three"} {
		w.configMap(t, name, map[string]any{"size": name})
	}
	in := "namespace: " + w.name
	labeled := w.entry(t, cachedEntries, "labeled", `resource: {kind: configmaps, labelSelector: "l in (one,two)", `+in+`}`)
	named := w.entry(t, cachedEntries, "named", `resource: {kind: configmaps, fieldSelector: metadata.name=three, `+in+`}`)
	filtered := w.entry(t, cachedEntries, "filtered", `{resource: {kind: configmaps, labelSelector: "l!=one", filter: "data.size=='two' || data.size=='three'", `+in+`}, indexes: [{name: i, jmesPath: metadata.name}]}`)
	inline := policy.Entry{Resource: policy.EntryResource{Kind: "configmaps", Namespace: w.name, Filter: "data.size=='two'"}}
	cache := w.cache(t)
	cache.Want([]policy.Entry{inline})
	names := func(id policy.Entry, want ...any) {
		t.Helper()
		gets(t, cache, policy.Query{Entry: id, Expression: "items[].metadata.name"}, want)
	}
	names(labeled, "one", "two")
	names(named, "three")
	names(filtered, "three", "two")
	names(inline, "two")
	w.data(t, "one", `{"metadata":{"labels":{"l":"four"}},"data":{"size":"two"}}`)
	w.data(t, "two", `{"data":{"size":null}}`)
	names(labeled, "two")
	names(filtered, "one", "three")
	names(inline, "one")
	w.shows(t, cachedEntries, filtered, contextcache.ReasonLoaded)
}

// TestFilterThatFails gives no short answers: as long as it can't tell of one object, there are none.
func TestFilterThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", map[string]any{"size": "one"})
	w.configMap(t, "two", nil)
	id := w.entry(t, cachedEntries, "e", `{resource: {kind: configmaps, filter: "starts_with(data.size, 'o')", namespace: `+w.name+`}, indexes: [{name: i, jmesPath: metadata.name}]}`)
	cache := w.cache(t)
	refuses(t, cache, policy.Query{Entry: id, Expression: "items"}, id.Name, "filter", w.name+"/two")
	refuses(t, cache, policy.Query{Entry: id, Projection: "i", Indexes: true}, "filter", w.name+"/two")
	w.shows(t, cachedEntries, id, contextcache.ReasonFailing, "filter", w.name+"/two")
	w.data(t, "two", `{"data":{"size":"two"}}`)
	gets(t, cache, policy.Query{Entry: id, Expression: "items[].metadata.name"}, []any{"one"})
	w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)
	w.data(t, "one", `{"data":null}`)
	refuses(t, cache, policy.Query{Entry: id, Expression: "items"}, "filter", w.name+"/one")
	testkit.NoError(t, w.at(configMaps, w.name).Delete(t.Context(), "one", metav1.DeleteOptions{}))
	gets(t, cache, policy.Query{Entry: id, Expression: "items"}, []any{})
}

// TestSelectorThatTheServerRefuses promises an error with its message.
func TestSelectorThatTheServerRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.entry(t, cachedEntries, "e", `resource: {kind: configmaps, fieldSelector: "status.none=x"}`)
	w.cache(t)
	w.shows(t, cachedEntries, id, contextcache.ReasonFailing, "status.none")
}
