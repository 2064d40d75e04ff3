// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"strings"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
)

// TestEntriesOfPolicies promises which entries of a policy other packages see.
func TestEntriesOfPolicies(t *testing.T) {
	t.Parallel()
	global := func(name string) policy.Entry { return policy.Entry{Kind: policy.GlobalContextEntry, Name: name} }
	cached := func(name string) policy.Entry { return policy.Entry{Kind: policy.CachedContextEntry, Name: name} }
	for entry, want := range map[string][]policy.Entry{
		`cachedContextEntry: {name: settings}`:                                                            {cached("settings")},
		`cachedContextEntry: {name: my.settings, jmespath: a}`:                                            {cached("my.settings")},
		`cachedContextEntry: {name: "x-{{ request.namespace }}"}`:                                         {cached(policy.AnyName)},
		`globalReference: {name: settings, jmesPath: "a['{{ request.namespace }}']"}`:                     {global("settings")},
		`globalReference: {name: settings.denied}`:                                                        {global("settings")},
		`globalReference: {name: "settings.{{ request.namespace }}"}`:                                     {global("settings")},
		`globalReference: {name: "{{ request.object.metadata.name }}.denied"}`:                            {global(policy.AnyName)},
		`resourceCache: {group: apis/apps, version: v1, kind: deployments, namespace: team, jmesPath: a}`: {{Resource: policy.EntryResource{Group: "apis/apps", Version: "v1", Kind: "deployments", Namespace: "team"}}},
		`resourceCache: {kind: Pod}`:                                                                      {{Resource: policy.EntryResource{Kind: "Pod"}}},
		`resourceCache: {kind: Pod, namespace: "{{ request.namespace }}"}`:                                nil,
		`apiCall: {urlPath: /api/v1/pods, cache: true}`:                                                   {{Path: "/api/v1/pods"}},
		`apiCall: {urlPath: "/api/v1/namespaces/{{ request.namespace }}/pods", cache: true}`:              nil,
		`apiCall: {service: {url: "https://a.test"}, cache: true}`:                                        {{Service: policy.EntryService{URL: "https://a.test", Method: "GET"}}},
		`apiCall: {service: {url: "https://a.test/x?y=1", headers: [{key: x-b, value: "2"}, {key: A, value: "1"}]}, method: POST, data: [{key: d, value: {f: [1], e: true}}], cache: true, jmesPath: a, default: []}`: {
			{Service: policy.EntryService{URL: "https://a.test/x?y=1", Method: "POST", Headers: `{"A":"1","X-B":"2"}`, Body: `{"d":{"e":true,"f":[1]}}`}},
		},
		`apiCall: {service: {url: "https://a.test"}, cache: false}`: nil,
		`apiCall: {urlPath: /api/v1/pods, cache: false}`:            nil,
		`apiCall: {urlPath: /api/v1/pods}`:                          nil,
		`configMap: {name: a, namespace: b}`:                        {{Path: "/api/v1/namespaces/b/configmaps/a"}},
	} {
		for _, text := range []string{
			enginetest.ClusterPolicy(enginetest.PodRule("context: [{name: c, " + entry + "}, {name: d, " + entry + "}]\n" + enginetest.Unprivileged)),
			enginetest.ClusterPolicy(enginetest.PodRule("validate:\n  foreach:\n  - list: request.object.spec.containers\n    context: [{name: c, " + entry + "}]\n    deny: {}\n")),
			enginetest.ClusterPolicy(enginetest.PodRule("validate:\n  foreach:\n  - list: request.object.spec.containers\n    foreach: [{list: element.ports, context: [{name: c, " + entry + "}], deny: {}}]\n")),
		} {
			enginetest.WantEqual(t, entry, want, compile(t, text).Entries())
		}
	}
	for expression, want := range map[string][]policy.Entry{
		`globalContext.Get("a", "").size() > 0 && globalContext.Get("a", "p").size() > 0`: {global("a")},
		`globalContext.Get("b") != null`:                                 {global("b")},
		`.globalContext.Get("b", "") != null`:                            {global("b")},
		`globalContext.Get("a-" + object.metadata.name, "") != null`:     {global(policy.AnyName)},
		`[globalContext].all(g, g.Get("a", "") != null)`:                 {global(policy.AnyName)},
		`object.metadata.name != "other"`:                                nil,
		`globalContext.Get(has(object.spec) ? "a" : "b", "").size() > 0`: {global(policy.AnyName)},
	} {
		p := compile(t, strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", "'"+strings.ReplaceAll(expression, "'", "''")+"', m", 1))
		enginetest.WantEqual(t, expression, want, p.Entries())
	}
}

// TestGlobalContextOfCELPolicies promises the data of entries and projections in CEL.
func TestGlobalContextOfCELPolicies(t *testing.T) {
	t.Parallel()
	entries := enginetest.NewFakeEntries(t)
	for expression, outcome := range map[string]string{
		`!globalContext.Get("settings", "denied").exists(n, n == object.metadata.name)`:                                    ":fail",
		`!globalContext.Get("settings", "").exists(c, c.data.deny == object.metadata.name)`:                                ":fail",
		`!globalContext.Get("settings").exists(c, c.data.deny == object.metadata.name)`:                                    ":fail",
		`globalContext.Get("settings").exists(c, c.replicas == 3) && globalContext.Get("settings").all(c, c.replicas < 4)`: ":pass",
		`globalContext.Get("other", "") == null`:                                                                           ":error",
	} {
		text := strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", "'"+expression+"', m", 1)
		enginetest.Want(t, enginetest.Compile(t, withEntries(t, entries), text), enginetest.Subject(t, enginetest.BadPod), outcome)
	}
}
