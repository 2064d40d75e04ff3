// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// fakeDiscovery answers one question.
type fakeDiscovery struct {
	groups []*metav1.APIGroup
	lists  []*metav1.APIResourceList
	err    error
}

func (f *fakeDiscovery) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return f.groups, f.lists, f.err
}

// failed is the error of discovery when scale/v1 does not answer; nil without texts.
func failed(texts ...string) error {
	if len(texts) == 0 {
		return nil
	}
	return &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: "scale", Version: "v1"}: errors.New(texts[0])}}
}

func group(name string, versions ...string) *metav1.APIGroup {
	g := &metav1.APIGroup{Name: name}
	for _, version := range versions {
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: schema.GroupVersion{Group: name, Version: version}.String(), Version: version})
	}
	g.PreferredVersion = g.Versions[0]
	return g
}

func serving(version string, kinds ...string) *metav1.APIResourceList {
	plurals := map[string]string{"Metric": "metrics", "Scaler": "scalers", "Old": "olds", "Event": "events", "Pod": "pods", "Review": "reviews"}
	list := &metav1.APIResourceList{GroupVersion: version}
	for _, kind := range kinds {
		verbs := metav1.Verbs{"get", "list", "watch"}
		switch kind {
		case "Review":
			verbs = metav1.Verbs{"create"}
		case "Metric":
			verbs = metav1.Verbs{"get", "list"}
		}
		list.APIResources = append(list.APIResources,
			metav1.APIResource{Name: plurals[kind], Kind: kind, Verbs: verbs},
			metav1.APIResource{Name: plurals[kind] + "/status", Kind: kind, Verbs: metav1.Verbs{"get"}})
	}
	return list
}

func names(list []Resource) []string {
	var result []string
	for _, r := range list {
		result = append(result, r.GroupVersion().String()+" "+r.Resource)
	}
	return result
}

func watchable(r Resource) bool { return r.Watchable }

// TestCatalogMatching: wildcards mean preferred versions, and a version that is named is meant.
func TestCatalogMatching(t *testing.T) {
	t.Parallel()
	client := &fakeDiscovery{
		groups: []*metav1.APIGroup{group("", "v1"), group("scale", "v2", "v1")},
		lists:  []*metav1.APIResourceList{serving("v1", "Pod", "Event", "Review"), serving("scale/v2", "Scaler"), serving("scale/v1", "Scaler", "Old")},
	}
	catalog := testkit.Must(Discover(client, nil))(t)
	excluded := policy.NewExclusion(schema.GroupResource{Group: "none", Resource: "pods"})
	for name, test := range map[string]struct {
		target policy.Target
		want   []string
	}{
		"all":                {policy.Target{Group: "*", Version: "*", Kind: "*"}, []string{"v1 pods", "scale/v2 scalers", "scale/v1 olds"}},
		"preferred":          {policy.Target{Group: "*", Version: "*", Kind: "Scaler"}, []string{"scale/v2 scalers"}},
		"named version":      {policy.Target{Group: "scale", Version: "v1", Kind: "Scaler"}, []string{"scale/v1 scalers"}},
		"all of a version":   {policy.Target{Group: "scale", Version: "v1", Resource: "*"}, []string{"scale/v1 olds", "scale/v1 scalers"}},
		"never":              {policy.Target{Group: "*", Version: "*", Kind: "Event"}, nil},
		"not listable":       {policy.Target{Group: "*", Version: "*", Kind: "Review"}, nil},
		"subresource":        {policy.Target{Group: "*", Version: "*", Kind: "Pod", Subresource: "status"}, nil},
		"unknown":            {policy.Target{Group: "*", Version: "*", Kind: "Widget"}, nil},
		"group of exclusion": {policy.Target{Version: "*", Kind: "Pod"}, []string{"v1 pods"}},
	} {
		testkit.NoDiff(t, cmp.Diff(test.want, names(catalog.Matching([]policy.Target{test.target}, excluded, watchable))), "%s", name)
	}
	if got := catalog.Matching([]policy.Target{{Version: "*", Kind: "Pod"}}, policy.NewExclusion(schema.GroupResource{Group: "*", Resource: "pods"}), watchable); len(got) != 0 {
		t.Errorf("excluded: %v", names(got))
	}
}

// TestCatalogKeepsWhatDoesNotAnswer: a group that fails has the kinds that it had, one that is
// gone has none, and an API that doesn't answer at all is an error.
func TestCatalogKeepsWhatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	client := &fakeDiscovery{
		groups: []*metav1.APIGroup{group("", "v1"), group("scale", "v2"), group("gone", "v1")},
		lists:  []*metav1.APIResourceList{serving("v1", "Pod"), serving("scale/v2", "Scaler"), serving("gone/v1", "Old")},
	}
	before := testkit.Must(Discover(client, nil))(t)
	failed := schema.GroupVersion{Group: "scale", Version: "v2"}
	partial := &fakeDiscovery{
		groups: client.groups[:2], lists: client.lists[:1],
		err: &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{failed: errors.New("away")}},
	}
	after := testkit.Must(Discover(partial, before))(t)
	if diff := cmp.Diff([]string{"v1 pods", "scale/v2 scalers"}, names(after.preferred)); diff != "" {
		t.Error(diff)
	}
	if !after.GroupFailed("scale") || after.GroupFailed("") {
		t.Errorf("failed: %v", after.failed)
	}
	first, err := Discover(partial, nil)
	if err != nil || !first.GroupFailed("scale") || len(first.preferred) != 1 {
		t.Errorf("at the start: %v, %v", first, err)
	}
	for _, bad := range []*fakeDiscovery{{err: errors.New("refused")}, {}} {
		if got, err := Discover(bad, before); err == nil {
			t.Errorf("no answer: %v", got)
		}
	}
}
