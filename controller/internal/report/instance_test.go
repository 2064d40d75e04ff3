// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestInstances: writers of different instances have reports of their own on one server, whatever their
// layout, and none touches those of another, not even at a start with another layout or without policies.
func TestInstances(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	id, web := clusterPolicy("a"), pod("default", "web")
	begin := func(instance string, options Options, results ...policy.Result) *world {
		options.Instance = instance
		w := s.world(t, options)
		w.load(t)
		w.layout.Present(id, presentation())
		w.layout.Set(id, web, results)
		w.prune()
		w.flush(t)
		return w
	}
	versions := func(instance string) map[string]string {
		found := map[string]string{}
		list := testkit.Must(s.policyReports().List(t.Context(), metav1.ListOptions{LabelSelector: selector(instance)}))(t)
		for i := range list.Items {
			found[list.Items[i].GetName()] = list.Items[i].GetResourceVersion() + " " + outcome(&list.Items[i])
		}
		return found
	}
	unnamed := begin("", Options{Split: true}, pass("r"))
	unnamed.run(t)
	begin("one", Options{Split: true}, fail("r", "")).run(t)
	begin("two", Options{}, fail("r", "")).run(t)
	before := map[string]map[string]string{"": versions(""), "one": versions("one"), "two": versions("two")}
	if _, plain := before[""]["polr-ns-default-a"]; !plain || len(before[""]) != 1 || len(before["one"]) != 1 || len(before["two"]) != 1 {
		t.Fatalf("each has one report, without a name the one of always: %v", before)
	}
	begin("three", Options{}, pass("r"))
	if got := len(versions("three")); got != 1 {
		t.Errorf("three has %d reports", got)
	}
	begin("three", Options{Split: true})
	if got := versions("three"); len(got) != 0 {
		t.Errorf("without results, three has %v", got)
	}
	for instance, want := range before {
		if got := versions(instance); len(got) != 1 || !maps.Equal(got, want) {
			t.Errorf("instance %q: %v, before %v", instance, got, want)
		}
	}
	// Who takes a report to another instance loses it, as one whose label managed-by goes.
	name := slices.Collect(maps.Keys(before[""]))[0]
	if _, err := s.policyReports().Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"`+InstanceLabel+`":"four"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "it is reported as foreign", func() bool {
		_, err := unnamed.writer.Pending()
		return err != nil
	})
}
