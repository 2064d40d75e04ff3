// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
)

// podsAndNamespaces is an API with two kinds.
type podsAndNamespaces struct{}

func (podsAndNamespaces) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	version := metav1.GroupVersionForDiscovery{GroupVersion: "v1", Version: "v1"}
	verbs := metav1.Verbs{"list", "watch"}
	return []*metav1.APIGroup{{Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}},
		[]*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: verbs}, {Name: "namespaces", Kind: "Namespace", Verbs: verbs},
		}}}, nil
}

// TestKindThatWaitedForNamespaces: one that was matched, could not be watched yet, and is matched no
// more, is forgotten. Otherwise the first scan would never end.
func TestKindThatWaitedForNamespaces(t *testing.T) {
	t.Parallel()
	u := newUnit(t)
	u.config.Client = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	clear(u.kinds)
	catalog, err := served.Discover(podsAndNamespaces{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	u.applySnapshot(&policies.Snapshot{Items: []*policies.Item{{Policy: unitNamed("p", false)}}}, &u.news)
	u.inventory.assign(t.Context(), u.wantedKinds(catalog), false)
	if pods := u.kinds[unitPods.GroupVersionResource]; pods == nil || pods.source != nil || !pods.hasPolicies() {
		t.Fatal("pods don't wait for namespaces")
	}
	u.applySnapshot(&policies.Snapshot{}, &u.news)
	u.inventory.assign(t.Context(), u.wantedKinds(catalog), false)
	u.forget()
	if kinds := u.inventory.all(); len(kinds) != 0 {
		t.Errorf("there still are %v", kinds)
	}
}

// TestPeriodicScanGivesWay: what waits because a policy changed is not evaluated by all policies as well, and the
// periodic scan is a round late at most.
func TestPeriodicScanGivesWay(t *testing.T) {
	t.Parallel()
	u := newUnit(t)
	u.list(t, unitPod("x", "1", ""))
	u.are(unitNamed("p", false))
	var round periodicRound
	turn := func() (queued bool) {
		before := u.queue.length()
		u.rescanBucket(t.Context(), &round)
		return u.queue.length() > before || u.pods.objects["n"]["x"].stale == stale
	}
	for i := range buckets {
		if turn() {
			t.Fatalf("turn %d: the pod is to be evaluated by all policies, and waits for one", i)
		}
	}
	if !turn() {
		t.Error("the periodic scan waits for longer than a round")
	}
	u.drain(t)
	for range buckets - 1 {
		if turn() {
			t.Fatal("the pod is queued twice in a round")
		}
	}
	u.update(t, unitPod("x", "1", "changed"))
	if u.drain(t) != 1 || !turn() {
		t.Error("the periodic scan waits for nothing")
	}
	if round.postponed != 0 || round.bucket != 1 {
		t.Errorf("a new round begins with %+v", round)
	}
}
