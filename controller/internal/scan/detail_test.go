// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/cluster/served"
)

// TestKindWithoutData: resources that are never evaluated are kept without their data, and evaluated only
// once these are there.
func TestKindWithoutData(t *testing.T) {
	t.Parallel()
	u, p, scanned := newUnit(t), unitNamed("p", true), unitNamed("scanned", false)
	pod := unitPod("a", "1", "x")
	u.are(p)
	u.pods.setDetail(detailNone)
	u.list(t, pod)
	u.drain(t)
	if rs := u.pods.objects["n"]["a"]; rs.packed.data != nil {
		t.Error("data of a kind without data")
	}
	u.admit(admitted(t, p, pod, 0, report.OutcomeFail))
	u.are(p, scanned)
	both := u.pods.policies
	if !u.pods.needsData(&wantedKind{policies: both}) {
		t.Error("the data are not asked for")
	}
	if got := u.pods.possible(both); len(got) != 1 || !got[0].admission {
		t.Errorf("%d policies are possible", len(got))
	}
	u.pods.setDetail(detailNoStatus)
	u.list(t, pod)
	if got := u.pods.possible(both); len(got) != 2 || u.pods.needsData(&wantedKind{policies: both}) {
		t.Errorf("%d policies are possible with data", len(got))
	}
	u.drain(t)
	u.want(t, "evaluated", "p a fail", "scanned a pass")
}

// TestKindWithoutStatus: resources are kept without the status that no policy reads, and a policy that does waits
// until they have been listed with it. Other policies go on.
func TestKindWithoutStatus(t *testing.T) {
	t.Parallel()
	u, p, reader := newUnit(t), unitNamed("p", false), unitNamed("reader", false)
	reader.readsStatus = true
	pod := unitPod("a", "1", "x")
	pod.Object["status"] = map[string]any{"phase": "Running"}
	u.are(p)
	u.pods.setDetail((&wantedKind{policies: u.pods.policies}).detail())
	u.list(t, pod.DeepCopy())
	u.drain(t)
	if got, err := u.pods.objects["n"]["a"].packed.unpack(); err != nil || got.Object["status"] != nil {
		t.Errorf("the status is kept: %v, %v", got, err)
	}
	u.are(p, reader)
	both := &wantedKind{policies: u.pods.policies}
	if !u.pods.needsData(both) {
		t.Error("the status is not asked for")
	}
	if got := u.pods.possible(both.policies); len(got) != 1 || got[0].policy.ReadsStatus() {
		t.Errorf("%d policies are possible", len(got))
	}
	u.pods.setDetail(both.detail())
	if got := u.pods.possible(both.policies); len(got) != 1 {
		t.Errorf("%d policies are possible before the list", len(got))
	}
	u.list(t, pod.DeepCopy())
	if got := u.pods.possible(both.policies); len(got) != 2 || u.pods.needsData(both) {
		t.Errorf("%d policies are possible with the status", len(got))
	}
	if got, err := u.pods.objects["n"]["a"].packed.unpack(); err != nil || got.Object["status"] == nil {
		t.Errorf("the status is not kept: %v, %v", got, err)
	}
	for name, test := range map[string]struct {
		wanted wantedKind
		want   detail
	}{
		"no policy":          {wantedKind{}, detailNone},
		"status as a target": {wantedKind{policies: both.policies[:1], withStatus: true}, detailAll},
		"namespaces":         {wantedKind{resource: served.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}}}, detailAll},
	} {
		if got := test.wanted.detail(); got != test.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}
