// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestMatchingAccepts: what is refused doesn't count, so that another version can take its place, and
// targets that mean the same resource mean it once.
func TestMatchingAccepts(t *testing.T) {
	t.Parallel()
	catalog := testkit.Must(Discover(&fakeDiscovery{
		groups: []*metav1.APIGroup{group("", "v1"), group("scale", "v2", "v1")},
		lists:  []*metav1.APIResourceList{serving("v1", "Pod", "Metric"), serving("scale/v2", "Scaler"), serving("scale/v1", "Scaler")},
	}, nil))(t)
	anything := policy.Target{Group: "*", Version: "*", Kind: "*"}
	scaler := func(version string) policy.Target {
		return policy.Target{Group: "scale", Version: version, Kind: "Scaler"}
	}
	for name, test := range map[string]struct {
		targets []policy.Target
		accept  func(Resource) bool
		want    []string
	}{
		"to watch":           {[]policy.Target{anything}, watchable, []string{"v1 pods", "scale/v2 scalers"}},
		"to list":            {[]policy.Target{anything}, func(r Resource) bool { return r.Listable }, []string{"v1 pods", "v1 metrics", "scale/v2 scalers"}},
		"another version":    {[]policy.Target{anything}, func(r Resource) bool { return r.Version != "v2" }, []string{"v1 pods", "v1 metrics", "scale/v1 scalers"}},
		"twice":              {[]policy.Target{scaler("v2"), scaler("*")}, watchable, []string{"scale/v2 scalers"}},
		"both versions":      {[]policy.Target{scaler("v1"), scaler("*")}, watchable, []string{"scale/v1 scalers", "scale/v2 scalers"}},
		"with a subresource": {[]policy.Target{{Group: "scale", Version: "v1", Kind: "Scaler", Subresource: "status"}, scaler("v2")}, watchable, []string{"scale/v2 scalers"}},
	} {
		testkit.NoDiff(t, cmp.Diff(test.want, names(catalog.Matching(test.targets, policy.NewExclusion(), test.accept))), "%s (-want +got)", name)
	}
}

// TestAssign: resources and policies keep the order in which they came.
func TestAssign(t *testing.T) {
	t.Parallel()
	pod, node := Resource{Kind: "Pod"}, Resource{Kind: "Node"}
	matching := map[string][]Resource{"a": {pod}, "b": {node, pod}, "c": nil, "d": {node}}
	got := Assign([]string{"a", "b", "c", "d"}, func(name string) []Resource { return matching[name] })
	want := []Assignment[string]{{pod, []string{"a", "b"}}, {node, []string{"b", "d"}}}
	testkit.NoDiff(t, cmp.Diff(want, got), "assignments (-want +got)")
}

// TestEqualCatalogs: another text of an error is no change, one that has gone is.
func TestEqualCatalogs(t *testing.T) {
	t.Parallel()
	discovered := func(kind string, failures ...string) *Catalog {
		found := testkit.Must(Discover(&fakeDiscovery{
			groups: []*metav1.APIGroup{group("", "v1"), group("scale", "v1")},
			lists:  []*metav1.APIResourceList{serving("v1", kind)}, err: failed(failures...),
		}, nil))(t)
		return found
	}
	before := discovered("Pod", "away at 1")
	for name, test := range map[string]struct {
		other *Catalog
		want  bool
	}{
		"same":         {discovered("Pod", "away at 1"), true},
		"another text": {discovered("Pod", "away at 2"), true},
		"recovered":    {discovered("Pod"), false},
		"another kind": {discovered("Event", "away at 1"), false},
		"none":         {nil, false},
	} {
		if before.equal(test.other) != test.want || test.other.equal(before) != test.want {
			t.Errorf("%s: equal is %v", name, !test.want)
		}
	}
}
