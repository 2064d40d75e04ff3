// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/reports/kinds"
	"github.com/docket-project/docket/internal/store/engine"
)

// clusterSummaries serves a summary of each cluster of the database.
func clusterSummaries(s *source) served {
	type object = v1alpha1.ClusterSummary
	return newSummaries[object](s, summaryKind[object]{
		resource: resource{
			kind: "ClusterSummary", plural: "clustersummaries", singular: "clustersummary", shortNames: []string{"clsum"},
			TableConvertor: summaryTable("ClusterSummary", []kinds.Column[*object]{
				kinds.NameColumn[*object]("Name of the cluster in the database."),
				integerColumn("Servers", "Number of servers that serve it now.", func(c *object) int64 { return int64(c.Servers) }),
				textColumn("Changed", "Time since a report changed.", func(c *object) string { return age(c.Changed) }),
				integerColumn("Reports", "Number of reports.", func(c *object) int64 { return c.Reports }),
			}, []kinds.Column[*object]{
				integerColumn("Policies", "Number of policies with results.", func(c *object) int64 { return c.Policies }),
				integerColumn("Failing", "Number of policies that fail.", func(c *object) int64 { return c.FailingPolicies }),
			}),
		},
		read: s.clusters,
		item: func(of summary) object {
			return object{
				ObjectMeta: metav1.ObjectMeta{Name: of.name}, FirstSeen: moment(of.cluster.FirstSeen), Changed: moment(of.cluster.Changed),
				Servers: int32(of.cluster.Servers), Reports: of.cluster.Reports, Policies: of.groups, FailingPolicies: of.failing, Counts: of.counts,
			}
		},
		list: func(meta metav1.ListMeta, items []object) runtime.Object {
			return &v1alpha1.ClusterSummaryList{ListMeta: meta, Items: items}
		},
	})
}

func moment(at time.Time) *metav1.Time {
	if at.IsZero() {
		return nil
	}
	return &metav1.Time{Time: at}
}

// clusters returns summaries of all clusters, in the order of their names, and the state of the server's own.
func (s *source) clusters(ctx context.Context) ([]summary, engine.State, error) {
	everywhere := scope{namespaced: true, global: true}
	all, err := s.questions.Clusters(ctx, everywhere.kinds(s))
	if err != nil {
		return nil, engine.State{}, err
	}
	var own engine.State
	summaries := make([]summary, 0, len(all))
	for _, cluster := range all {
		counters, state, err := s.counters(ctx, cluster.Name, everywhere, nil, nil)
		if err != nil {
			return nil, own, ofCluster(cluster.Name, err)
		}
		if cluster.Name == s.cluster {
			own = state
		}
		one := summary{name: cluster.Name}
		for _, whole := range sum(counters, func(c counter) (summary, string) { return one, c.source + "\x00" + c.policy }) {
			one = whole // The only one, unless the cluster has no results.
		}
		one.cluster = cluster
		summaries = append(summaries, one)
	}
	return summaries, own, nil
}
