// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// documents are the objects of YAML documents, as a scan of files gives them.
func documents(tb testing.TB, text string) *objects.API {
	tb.Helper()
	return apiOf(read(tb, text))
}

// apiOf is an API without a cluster behind it.
func apiOf(list []*unstructured.Unstructured) *objects.API {
	return objects.NewAPI(objects.NewDocuments(list, objects.KindsOf(list, &served.Catalog{})), nil)
}

// read reads YAML documents.
func read(tb testing.TB, text string) []*unstructured.Unstructured {
	tb.Helper()
	var list []*unstructured.Unstructured
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		testkit.NoError(tb, yaml.Unmarshal([]byte(document), object))
		list = append(list, object)
	}
	return list
}

const staticResources = `
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a, namespace: apps}, spec: {rules: [{host: a.example}]}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: b, namespace: other}, spec: {rules: [{host: b.example}]}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: d, namespace: staging, labels: {tier: web}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: e, namespace: staging}}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: apps}}
---
{apiVersion: serving.example/v1, kind: Service, metadata: {name: k, namespace: apps}}
---
{apiVersion: a.example/v1, kind: Thing, metadata: {name: k}}
---
{apiVersion: b.example/v1, kind: Thing, metadata: {name: k}}`

const staticEntries = `
{apiVersion: kyverno.io/v2alpha1, kind: CachedContextEntry, metadata: {name: ingress}, spec: {resource: {group: apis/networking.k8s.io, version: v1, kind: ingresses, namespace: apps}}}
---
{apiVersion: kyverno.io/v2beta1, kind: GlobalContextEntry, metadata: {name: services}, spec: {kubernetesResource: {version: v1, resource: services}, projections: [{name: names, jmesPath: "[].metadata.name"}]}}
---
{apiVersion: kyverno.io/v2alpha1, kind: CachedContextEntry, metadata: {name: things}, spec: {resource: {kind: Thing}}}
---
{apiVersion: kyverno.io/v2alpha1, kind: CachedContextEntry, metadata: {name: wrong}, spec: {resource: {kind: a/b}}}
---
{apiVersion: kyverno.io/v2beta1, kind: GlobalContextEntry, metadata: {name: path}, spec: {apiCall: {urlPath: /apis/apps/v1/deployments}}}
---
{apiVersion: kyverno.io/v2beta1, kind: GlobalContextEntry, metadata: {name: version}, spec: {apiCall: {urlPath: /version}}}
---
{apiVersion: kyverno.io/v2beta1, kind: GlobalContextEntry, metadata: {name: post}, spec: {apiCall: {urlPath: /apis/authorization.k8s.io/v1/subjectaccessreviews, method: POST}}}`

func TestStaticAnswersLikeACluster(t *testing.T) {
	t.Parallel()
	static, err := contextcache.NewStatic(contextcache.Config{Engine: engine()}, documents(t, staticResources), read(t, staticEntries))
	if err != nil {
		t.Fatal(err)
	}
	cached := func(name string) policy.Entry { return policy.Entry{Kind: policy.CachedContextEntry, Name: name} }
	global := func(name string) policy.Entry { return policy.Entry{Kind: policy.GlobalContextEntry, Name: name} }
	path := func(path string) policy.Entry { return policy.Entry{Path: path} }
	inline := func(r policy.EntryResource) policy.Entry { return policy.Entry{Resource: r} }
	staging := "/apis/apps/v1/namespaces/staging/deployments"
	names := "items[].metadata.name"
	for _, test := range []struct {
		query policy.Query
		want  any
	}{
		{policy.Query{Entry: cached("ingress"), Alias: "ingresses", Expression: "ingresses | items[].spec.rules[].host"}, []any{"a.example"}},
		{policy.Query{Entry: global("ingress"), Expression: "[].spec.rules[].host"}, []any{"a.example"}},
		{policy.Query{Entry: global("services"), Projection: "names"}, []any{"s"}},
		{policy.Query{Entry: cached("services"), Expression: "items[0].apiVersion"}, "v1"},
		{policy.Query{Entry: inline(policy.EntryResource{Kind: "Service"}), Expression: names}, []any{"s"}}, // The core group wins.
		{policy.Query{Entry: inline(policy.EntryResource{Kind: "services", Group: "serving.example"}), Expression: names}, []any{"k"}},
		{policy.Query{Entry: inline(policy.EntryResource{Kind: "deployments", Group: "apps", Version: "v1", Namespace: "staging"}), Expression: "items[?metadata.name=='d'] || `[]` | length(@)"}, 1.0},
		{policy.Query{Entry: inline(policy.EntryResource{Kind: "Lease"}), Expression: "items"}, []any{}},
		{policy.Query{Entry: path(staging), Expression: names}, []any{"d", "e"}},
		{policy.Query{Entry: inline(policy.EntryResource{Kind: "Deployment", LabelSelector: "tier"}), Expression: names}, []any{"d"}},
		{policy.Query{Entry: inline(policy.EntryResource{Kind: "Deployment", Filter: "metadata.name!='d'"}), Expression: names}, []any{"e"}},
		{policy.Query{Entry: path(staging + "?labelSelector=tier%3Dweb"), Expression: names}, []any{"d"}},
		{policy.Query{Entry: path(staging + "?fieldSelector=metadata.name%21%3Dd"), Expression: names}, []any{"e"}},
		{policy.Query{Entry: path(staging + "/d"), Expression: "metadata.labels.tier"}, "web"},
		{policy.Query{Entry: path(staging + "/d/scale"), Expression: "[kind, spec.replicas]"}, []any{"Scale", 1.0}},
		{policy.Query{Entry: path(staging), Expression: "[kind, apiVersion, items[0].kind]"}, []any{"DeploymentList", "apps/v1", nil}},
		{policy.Query{Entry: path("/apis/serving.example/v1/services"), Expression: "items[0].kind"}, "Service"},
		{policy.Query{Entry: global("path"), Expression: names}, []any{"d", "e"}},
	} {
		gets(t, static, test.query, test.want)
	}
	for _, test := range []struct {
		query policy.Query
		words []string
	}{
		{policy.Query{Entry: cached("none")}, []string{"there is no CachedContextEntry or GlobalContextEntry", `"none"`}},
		{policy.Query{Entry: cached("things")}, []string{"several groups", "a.example, b.example"}},
		{policy.Query{Entry: cached("wrong")}, []string{"CachedContextEntry wrong", "spec.resource.kind"}},
		{policy.Query{Entry: inline(policy.EntryResource{Kind: "Ingress", Filter: "spec["})}, []string{"resourceCache Ingress with filter spec[", "resourceCache.filter"}},
		{policy.Query{Entry: path(staging + "/none")}, []string{"not found"}},
		{policy.Query{Entry: path("/apis/unknown.example/v1/things")}, []string{"no kind things in unknown.example/v1"}},
		{policy.Query{Entry: inline(policy.EntryResource{Kind: "Gateway"})}, []string{`no kind or plural "Gateway"`}},
		{policy.Query{Entry: path(staging + "?fieldSelector=status.x%3Dy")}, []string{"field label not supported: status.x"}},
		{policy.Query{Entry: global("version")}, []string{"GET /version", "only a cluster can answer that", "--kubeconfig"}},
		{policy.Query{Entry: global("post")}, []string{"POST /apis/authorization.k8s.io", "only a cluster can answer that"}},
		{policy.Query{Entry: cached("ingress"), Expression: "items["}, []string{"CachedContextEntry ingress", "items["}},
	} {
		if got, err := query(t, static, test.query); err == nil {
			t.Errorf("%+v: %v", test.query, got)
		} else {
			refuses(t, static, test.query, test.words...)
		}
	}
}

// TestEntriesInCircles: an entry that reads itself, or all entries, has objects, and no query waits.
// Entries that only the API has are found there.
func TestEntriesInCircles(t *testing.T) {
	t.Parallel()
	const entries = `
{apiVersion: kyverno.io/v2beta1, kind: GlobalContextEntry, metadata: {name: itself}, spec: {apiCall: {urlPath: /apis/kyverno.io/v2beta1/globalcontextentries/itself}}}
---
{apiVersion: kyverno.io/v2beta1, kind: GlobalContextEntry, metadata: {name: all}, spec: {kubernetesResource: {group: kyverno.io, version: v2beta1, resource: globalcontextentries}}}`
	for _, declared := range [][]*unstructured.Unstructured{read(t, entries), nil} {
		static, err := contextcache.NewStatic(contextcache.Config{Engine: engine()}, documents(t, entries), declared)
		if err != nil {
			t.Fatal(err)
		}
		global := func(name string) policy.Entry { return policy.Entry{Kind: policy.GlobalContextEntry, Name: name} }
		gets(t, static, policy.Query{Entry: global("itself"), Expression: "metadata.name"}, "itself")
		gets(t, static, policy.Query{Entry: global("all"), Expression: "[].metadata.name"}, []any{"all", "itself"})
		refuses(t, static, policy.Query{Entry: global("none")}, `of the name "none"`)
	}
}

// TestProjectionsAndIndexes: those of a CachedContextEntry are over the list that its other expressions are over.
func TestProjectionsAndIndexes(t *testing.T) {
	t.Parallel()
	static, err := contextcache.NewStatic(contextcache.Config{Engine: engine()}, documents(t, staticResources), read(t, `
apiVersion: kyverno.io/v2alpha1
kind: CachedContextEntry
metadata: {name: ingress}
spec:
  resource: {kind: Ingress}
  projections: [{name: hosts, jmesPath: "items[].spec.rules[].host"}]
  indexes: [{name: byHost, jmesPath: "spec.rules[].host"}, {name: broken, jmesPath: "join('/', [metadata.name, spec.none])"}]`))
	if err != nil {
		t.Fatal(err)
	}
	entry := policy.Entry{Kind: policy.GlobalContextEntry, Name: "ingress"}
	gets(t, static, policy.Query{Entry: entry, Projection: "hosts"}, []any{"a.example", "b.example"})
	gets(t, static, policy.Query{Entry: entry, Projection: "hosts", Expression: "[1]"}, "b.example")
	refuses(t, static, policy.Query{Entry: entry, Projection: "none"}, `no projection or index "none" (there are hosts, broken, byHost)`)
	refuses(t, static, policy.Query{Entry: entry, Projection: "byHost"}, `"byHost" is an index`, "filter by equality")
	refuses(t, static, policy.Query{Entry: entry, Projection: "broken", Indexes: true}, `index "broken"`, "the key of apps/a")
	got, err := query(t, static, policy.Query{Entry: entry, Projection: "byHost", Indexes: true})
	index, ok := got.(policy.Index)
	if !ok || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
	found, err := index.Find("b.example")
	if err != nil || len(found) != 1 || index.Len() != 2 || index.Has("c.example") {
		t.Errorf("%v, %v; %d keys", found, err, index.Len())
	}
}

func TestStaticCallsOnce(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	s := newService(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		text("application/json", `{"a":1}`)(w, r)
	})
	down := newService(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	})
	entry := func(name string, s *service) *unstructured.Unstructured {
		object := read(t, `{"apiVersion":"kyverno.io/v2alpha1","kind":"CachedContextEntry","spec":`+apiCall(t, s.URL, s.bundle)+`}`)[0]
		object.SetName(name)
		return object
	}
	static, err := contextcache.NewStatic(contextcache.Config{Engine: engine(), AllowRanges: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		apiOf(nil), []*unstructured.Unstructured{entry("up", s), entry("down", down)})
	if err != nil {
		t.Fatal(err)
	}
	inline, err := policy.NewEntryService(s.URL, "", nil, nil, s.bundle)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		gets(t, static, policy.Query{Entry: policy.Entry{Service: inline}, Expression: "a"}, 1.0)
		gets(t, static, policy.Query{Entry: policy.Entry{Kind: policy.CachedContextEntry, Name: "up"}, Expression: "a"}, 1.0)
		refuses(t, static, policy.Query{Entry: policy.Entry{Kind: policy.CachedContextEntry, Name: "down"}}, "500")
	}
	if calls.Load() != 3 {
		t.Errorf("%d calls", calls.Load())
	}
}

func TestStaticRefusesTwoEntriesOfOneName(t *testing.T) {
	t.Parallel()
	twice := append(read(t, staticEntries), read(t, staticEntries)...)
	if _, err := contextcache.NewStatic(contextcache.Config{Engine: engine()}, apiOf(nil), twice); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error(err)
	}
}
