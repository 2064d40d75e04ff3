// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// TestTopOfAllClusters: there is a column for the number of clusters, but where clusters are what is ranked.
func TestTopOfAllClusters(t *testing.T) {
	c := &cluster{t: t, answer: v1alpha1.ResultQueryStatus{Groups: []v1alpha1.ResultGroup{
		{By: map[string]string{"source": "kyverno", "policy": "labels", "cluster": "east"}, Results: 30, Clusters: ptr.To(int64(2))},
	}}}
	for ranking, want := range map[Ranking]string{ByPolicy: "SOURCE POLICY CLUSTERS RESULTS kyverno labels 2 30", ByCluster: "CLUSTER RESULTS east 30"} {
		var out bytes.Buffer
		if _, err := c.client().Top(t.Context(), &out, Table, Extent{AllClusters: true}, ranking, Selection{}, 7); err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(out.String())
		if got := strings.Join(words[:len(words)-1], " "); got != want {
			t.Errorf("%s: got\n%s, want the words %s and a bar", ranking, &out, want)
		}
		if asked := slices.Contains(c.spec.Aggregates, "clusters"); asked != (ranking == ByPolicy) {
			t.Errorf("%s: asked for %+v", ranking, c.spec)
		}
	}
	c.refused = []string{"fleetqueries"}
	var out bytes.Buffer
	_, err := c.client().Top(t.Context(), &out, Table, Extent{AllClusters: true}, ByPolicy, Selection{}, 7)
	if err == nil || !strings.Contains(err.Error(), "docket:fleet-view") {
		t.Errorf("who may not ask is told %v", err)
	}
}
