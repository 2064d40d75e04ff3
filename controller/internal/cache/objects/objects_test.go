// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

func TestPaths(t *testing.T) {
	t.Parallel()
	services := schema.GroupVersionResource{Version: "v1", Resource: "services"}
	nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	all := served.CatalogOf([]served.Resource{
		{GroupVersionResource: services, Kind: "Service", Namespaced: true, Watchable: true},
		{GroupVersionResource: nodes, Kind: "Node", Watchable: true},
		{GroupVersionResource: schema.GroupVersionResource{Group: "m.x", Version: "v1", Resource: "pods"}, Kind: "PodMetrics", Namespaced: true},
	})
	for path, want := range map[string]*Selection{
		"/api/v1/services":                                 {},
		"/api/v1/namespaces/x/services":                    {Namespace: "x"},
		"/api/v1/namespaces/x/services/":                   {Namespace: "x"},
		"/api/v1/namespaces/x/services/a":                  {Namespace: "x", Name: "a"},
		"/api/v1/nodes/a":                                  {Name: "a"},
		"/api/v1/services?labelSelector=a%3Db,c":           {Selectors: Selectors{Labels: "a=b,c"}},
		"/api/v1/services?fieldSelector=metadata.name%3Dx": {Selectors: Selectors{Fields: "metadata.name=x"}},
		"/api/v1/services?limit=5":                         nil,
		"/api/v1/namespaces/x/services/a/status":           nil,
		"/api/v1/namespaces/x/services/a?x=y":              nil,
		"/api/v1/services/a":                               nil,
		"/api/v2/services":                                 nil,
		"/api/v1/unknown":                                  nil,
		"/apis/m.x/v1/pods":                                nil,
		"/version":                                         nil,
		"/apis":                                            nil,
		"/api/v1/namespaces/x/nodes":                       nil,
		"/apis/apps/v1":                                    nil,
	} {
		named, err := ParsePath(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if named == nil {
			if want != nil {
				t.Errorf("%s: names nothing, want %+v", path, want)
			}
			continue
		}
		got, watchable := named.In(all)
		got.Resource = served.Resource{}
		if watchable != (want != nil) || (want != nil && got != *want) {
			t.Errorf("%s: %v, %+v; want %+v", path, watchable, got, want)
		}
	}
}

func byKind(r policy.EntryResource) Named { return Named{EntryResource: r} }

// TestPreferredGroup promises the first group in the API's order that can be listed, whatever the version.
func TestPreferredGroup(t *testing.T) {
	t.Parallel()
	resource := func(group, version string, watchable bool) served.Resource {
		return served.Resource{
			GroupVersionResource: schema.GroupVersionResource{Group: group, Version: version, Resource: "things"}, Kind: "Thing", Watchable: watchable,
		}
	}
	things := []served.Resource{
		resource("none", "v1", false), resource("b", "v2", true), resource("a", "v1", true), resource("b", "v1", true),
	}
	all := served.CatalogOf(things)
	for _, test := range []struct {
		named   Named
		group   string
		warning string
	}{
		{byKind(policy.EntryResource{Kind: "things"}), "b", "b is used"},
		{byKind(policy.EntryResource{Kind: "things", Version: "v1"}), "b", "set group to one of a, b"},
		{byKind(policy.EntryResource{Kind: "things", Version: "v2"}), "b", ""},
		{Named{EntryResource: policy.EntryResource{Kind: "things", Group: "a"}, Exact: true}, "a", ""},
	} {
		found, warning, err := Find(all, test.named)
		if err != nil || found.Resource.Group != test.group || !strings.Contains(warning, test.warning) || (test.warning == "") != (warning == "") {
			t.Errorf("%+v: %s, %q, %v", test.named, found, warning, err)
		}
	}
	all = served.CatalogOf(append(things, resource("", "v1", true)))
	if found, warning, err := Find(all, byKind(policy.EntryResource{Kind: "things"})); err != nil || found.Resource.Group != "" || warning != "" {
		t.Errorf("the core group: %s, %q, %v", found, warning, err)
	}
}
