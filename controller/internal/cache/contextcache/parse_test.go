// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/kyverno/go-jmespath"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func defined(tb testing.TB, kind, spec string) *definition {
	tb.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	var fields map[string]any
	testkit.NoError(tb, yaml.Unmarshal([]byte(spec), &fields))
	// As a client of the API decodes it.
	text := testkit.Must((&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "spec": fields}}).MarshalJSON())(tb)
	testkit.NoError(tb, object.UnmarshalJSON(text))
	object.SetName("x")
	return define(object, table.NewEngine(jmespath.NewFunctionCaller()))
}

func TestErrorsOfDefinitionsNameTheField(t *testing.T) {
	t.Parallel()
	const cached, global = policy.CachedContextEntry, policy.GlobalContextEntry
	for _, test := range []struct{ kind, spec, field, word string }{
		{cached, `{}`, "spec:", "resource or apiCall"},
		{cached, `{resource: {kind: a}, apiCall: {url: x}}`, "spec:", "resource or apiCall"},
		{cached, `{resource: 3}`, "spec.resource:", "not an object"},
		{cached, `{resource: {group: apps}}`, "spec.resource.kind:", "required"},
		{cached, `{resource: {kind: [a]}}`, "spec.resource.kind:", "not a string"},
		{cached, `{resource: {kind: deployments.apps}}`, "spec.resource.kind:", "group"},
		{cached, `{resource: {kind: a, namespace: "*"}}`, "spec.resource.namespace:", "leave it out"},
		{cached, `{resource: {kind: a, group: "*"}}`, "spec.resource.group:", "API group"},
		{cached, `{resource: {kind: a, group: apis/apps/v1, version: v2}}`, "spec.resource.group:", "leave one of them out"},
		{cached, `{resource: {kind: a, labelSelector: {app: web}}}`, "spec.resource.labelSelector:", "not a string"},
		{cached, `{resource: {kind: a, labelSelector: "a in b"}}`, "spec.resource.labelSelector:", "kubectl -l"},
		{cached, `{resource: {kind: a, fieldSelector: "a"}}`, "spec.resource.fieldSelector:", "--field-selector"},
		{cached, `{resource: {kind: a, filter: "a["}}`, "spec.resource.filter:", "a["},
		{cached, `{resource: {kind: a, filter: "none(a)"}}`, "spec.resource.filter:", "no function none"},
		{cached, `{apiCall: {}}`, "spec.apiCall.url:", "either a url or a urlPath"},
		{cached, `{apiCall: {url: "https://x/", refreshIntervalSeconds: 0}}`, "spec.apiCall.refreshIntervalSeconds:", "at least 1 s"},
		{cached, `{apiCall: {url: "https://x/", refreshIntervalSeconds: -5}}`, "spec.apiCall.refreshIntervalSeconds:", "at least 1 s"},
		{cached, `{apiCall: {url: "https://x/", refreshIntervalSeconds: "10"}}`, "spec.apiCall.refreshIntervalSeconds:", "number"},
		{cached, `{apiCall: {url: "https://x/", caBundle: x}}`, "spec.apiCall.caBundle:", "PEM"},
		{cached, `{apiCall: {url: "https://x/", headers: [{key: "a b", value: c}]}}`, "spec.apiCall.headers:", "header"},
		{cached, `{apiCall: {url: "https://x/", data: [{value: c}]}}`, "spec.apiCall.data[0].key:", "required"},
		{cached, `{apiCall: {url: "https://x/", data: {a: b}}}`, "spec.apiCall.data:", "not a list"},
		{cached, `{apiCall: {url: 3}}`, "spec.apiCall.url:", "not a string"},
		{cached, `{apiCall: {url: "https://x/", headers: [null]}}`, "spec.apiCall.headers[0]:", "not an object"},
		{cached, `{resource: {kind: a}, projections: [{name: p, jmesPath: a}, 3]}`, "spec.projections[1]:", "not an object"},
		{cached, `{allowNamespacedPolicies: "yes", resource: {kind: a.b}}`, "spec.allowNamespacedPolicies:", "neither true nor false"},
		{cached, `{allowNamespacedPolicies: "yes", resource: {kind: a.b}}`, "spec.resource.kind:", "not a kind"}, // All that is wrong.
		{cached, `{apiCall: {url: "https://x/", method: PUT}}`, "spec.apiCall.method:", "neither GET nor POST"},
		{cached, `{apiCall: {urlPath: "https://x/"}}`, "spec.apiCall.urlPath:", "begins with"},
		{cached, `{resource: {kind: a}, projections: [{name: p, jmesPath: "["}]}`, "spec.projections[0].jmesPath:", "Incomplete"},
		{cached, `{resource: {kind: a}, indexes: [{name: i, jmesPath: "["}]}`, "spec.indexes[0].jmesPath:", "Incomplete"},
		{cached, `{resource: {kind: a}, indexes: [{name: i, jmesPath: "@"}]}`, "spec.indexes[0].jmesPath:", "select a field"},
		{cached, `{resource: {kind: a}, indexes: [{name: i, jmesPath: "keys(metadata.labels)"}]}`, "spec.indexes[0].jmesPath:", "no order"},
		{cached, `{resource: {kind: a}, indexes: [{jmesPath: metadata.name}]}`, "spec.indexes[0].name:", "required"},
		{cached, `{resource: {kind: a}, indexes: [{name: i, jmesPath: a}], projections: [{name: i, jmesPath: a}]}`, "spec.indexes:", "choose another"},
		{cached, `{apiCall: {url: "https://x/"}, indexes: [{name: i, jmesPath: a}]}`, "spec.indexes:", "spec.projections"},
		{global, `{}`, "spec:", "kubernetesResource or apiCall"},
		{global, `{kubernetesResource: {version: v1}}`, "spec.kubernetesResource.resource:", "required"},
		{global, `{kubernetesResource: {resource: a}}`, "spec.kubernetesResource.version:", "required"},
		{global, `{kubernetesResource: {resource: a, version: v1}, projections: [{name: p, jmesPath: "["}]}`, "spec.projections[0].jmesPath:", "Incomplete"},
		{global, `{kubernetesResource: {resource: a, version: v1}, projections: [{jmesPath: a}]}`, "spec.projections[0].name:", "required"},
		{global, `{kubernetesResource: {resource: a, version: v1}, projections: [{name: p}]}`, "spec.projections[0].jmesPath:", "required"},
		{global, `{kubernetesResource: {resource: a, version: v1}, projections: [{name: p, jmesPath: a}, {name: p, jmesPath: a}]}`, "spec.projections[1].name:", "twice"},
		{global, `{apiCall: {urlPath: /api, refreshInterval: soon}}`, "spec.apiCall.refreshInterval:", "1h30m"},
		{global, `{apiCall: {urlPath: /api, refreshInterval: 10ms}}`, "spec.apiCall.refreshInterval:", "at least 1 s"},
		{global, `{apiCall: {service: {url: "ftp://x/"}}}`, "spec.apiCall.service.url:", "https://"},
		{global, `{apiCall: {service: {url: "https://x/", caBundle: x}}}`, "spec.apiCall.service.caBundle:", "PEM"},
	} {
		d := defined(t, test.kind, test.spec)
		if d.err == nil || !strings.Contains(d.err.Error(), test.field) || !strings.Contains(d.err.Error(), test.word) {
			t.Errorf("%s: %v, want %s … %s", test.spec, d.err, test.field, test.word)
		}
	}
}

func TestDefinitionsOfCalls(t *testing.T) {
	t.Parallel()
	d := defined(t, policy.GlobalContextEntry, `
apiCall:
  method: POST
  refreshInterval: 90s
  retryLimit: 5
  data: [{key: a, value: {b: [1]}}]
  service: {url: "https://x/", headers: [{key: K, value: v}]}
projections: [{name: p, jmesPath: a.b}]`)
	want := &call.Request{
		URL: "https://x/", Method: "POST", Headers: []call.Header{{Key: "K", Value: "v"}},
		Data: []call.Datum{{Key: "a", Value: map[string]any{"b": []any{int64(1)}}}},
	}
	if d.err != nil || d.interval != 90*time.Second || d.projections["p"] != "a.b" {
		t.Errorf("%+v", d)
	}
	if diff := cmp.Diff(want, d.call); diff != "" {
		t.Error(diff)
	}
	d = defined(t, policy.CachedContextEntry, `{apiCall: {url: "https://svc.kyverno/example"}}`)
	if d.err != nil || d.interval != 10*time.Minute {
		t.Errorf("%+v", d)
	}
}

func TestGroupsAsUsersWriteThem(t *testing.T) {
	t.Parallel()
	type named struct {
		group, version string
		exact          bool
	}
	for text, want := range map[string]named{
		"":                          {},
		"apps":                      {group: "apps", exact: true},
		"apis/networking.k8s.io":    {group: "networking.k8s.io", exact: true},
		"/apis/networking.k8s.io/":  {group: "networking.k8s.io", exact: true},
		"apis/networking.k8s.io/v1": {group: "networking.k8s.io", version: "v1", exact: true},
		"networking.k8s.io/v1":      {group: "networking.k8s.io", version: "v1", exact: true},
		"api":                       {exact: true},
		"api/v1":                    {version: "v1", exact: true},
		"v1":                        {version: "v1", exact: true},
		"core":                      {exact: true},
	} {
		got, err := parseResource("x", policy.EntryResource{Group: text, Kind: "k"}, nil)
		if err != nil || (named{got.Group, got.Version, got.Exact}) != want || got.Kind != "k" {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func TestPathsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"api/v1", "//host/x", "/api/v1/services?labelSelector=%3D%3D", "/api/v1/services?a=%zz"} {
		if err := defineInline(policy.Entry{Path: path}, nil).err; err == nil || !strings.Contains(err.Error(), "apiCall.urlPath") {
			t.Errorf("%q: %v", path, err)
		}
	}
}
