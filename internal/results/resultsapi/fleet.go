// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// maxClusterGroups bounds the groups of one cluster, which are all read to be added up.
	maxClusterGroups = engine.MaxGroups
	// maxClusterNames bounds the names of clusters that a group has in an answer.
	maxClusterNames = 10
)

// asksForClusters reports whether a question says anything of clusters, which engines don't know: theirs is one.
func asksForClusters(spec *v1alpha1.ResultQuerySpec, q *engine.CountQuery) bool {
	return slices.Contains(spec.GroupBy, string(engine.FieldCluster)) || slices.Contains(spec.Aggregates, askClusters) || q.Filter.Has(engine.FieldCluster)
}

// ofCluster returns the error that clients get when a cluster can't be read.
func ofCluster(name string, err error) error {
	return store.APIError("ask for results of cluster "+name, err)
}

// members returns the names of the clusters that a question is about, in their order.
func (r *queryStorage) members(ctx context.Context) ([]string, error) {
	if !r.fleet {
		return []string{r.source.cluster}, nil
	}
	all, err := r.source.questions.Clusters(ctx, nil)
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return names, err
}

// fleetAnswer answers a question for groups from several clusters, or with what it says of clusters.
func (r *queryStorage) fleetAnswer(ctx context.Context, spec *v1alpha1.ResultQuerySpec, q engine.CountQuery) (*v1alpha1.ResultQueryStatus, error) {
	names, err := r.members(ctx)
	if err != nil {
		return nil, store.APIError("list the clusters", err)
	}
	total := fleetTotal{q: &q, groups: map[string]*fleetGroup{}}
	for _, name := range names {
		if err := total.read(ctx, r.source.questions, name); err != nil {
			return nil, ofCluster(name, err)
		}
	}
	counts := total.answer()
	status := answerOf(spec, counts)
	status.ResourceVersion = ""
	if slices.Contains(spec.Aggregates, askClusters) {
		for i := range counts.Counts {
			names := total.groups[key(counts.Counts[i].Values)].clusters
			status.Groups[i].ClusterNames = names[:min(len(names), maxClusterNames)]
		}
	}
	return status, nil
}

// fleetTotal adds up counts of clusters. Those of subjects and namespaces are added, since no two clusters have one
// in common; of policies and sources, the names are collected.
type fleetTotal struct {
	q      *engine.CountQuery
	groups map[string]*fleetGroup
}

type fleetGroup struct {
	count             engine.Count
	clusters          []string
	policies, sources map[string]struct{}
}

// key identifies a group by its values.
func key(values []string) string { return strings.Join(values, "\x00") }

// read adds what a cluster has.
func (t *fleetTotal) read(ctx context.Context, questions engine.Questions, cluster string) error {
	q := *t.q
	q.Cluster, q.Filter = cluster, t.q.Filter.Of(cluster)
	if q.Filter.Never() {
		return nil
	}
	q.By = slices.DeleteFunc(slices.Clone(q.By), func(field engine.Field) bool { return field == engine.FieldCluster })
	q.Having, q.OrderBy, q.Descending, q.Limit = nil, "", false, maxClusterGroups
	q.Policies, q.Sources = false, false
	err := t.each(ctx, questions, &q, func(group *fleetGroup, count *engine.Count) {
		group.add(count)
		group.clusters = append(group.clusters, cluster)
	})
	if err != nil {
		return err
	}
	names := engine.CountQuery{Cluster: cluster, Kinds: q.Kinds, Namespace: q.Namespace, Filter: q.Filter, Limit: maxClusterGroups}
	for _, d := range []struct {
		wanted bool
		field  engine.Field
		names  func(*fleetGroup) map[string]struct{}
	}{
		{t.q.Policies, engine.FieldPolicy, func(g *fleetGroup) map[string]struct{} { return g.policies }},
		{t.q.Sources, engine.FieldSource, func(g *fleetGroup) map[string]struct{} { return g.sources }},
	} {
		if !d.wanted {
			continue
		}
		names.By = q.By
		if !slices.Contains(q.By, d.field) {
			names.By = append(slices.Clone(q.By), d.field)
		}
		at := slices.Index(names.By, d.field)
		if err := t.each(ctx, questions, &names, func(group *fleetGroup, count *engine.Count) {
			d.names(group)[count.Values[at]] = struct{}{}
		}); err != nil {
			return err
		}
	}
	return nil
}

// each calls add with the groups of a cluster, and those of the total that they belong to.
func (t *fleetTotal) each(ctx context.Context, questions engine.Questions, q *engine.CountQuery, add func(*fleetGroup, *engine.Count)) error {
	counts, err := questions.Count(ctx, *q)
	if err != nil {
		return err
	}
	if counts.More {
		return &engine.CrowdedError{Allowed: maxClusterGroups}
	}
	for i := range counts.Counts {
		count := &counts.Counts[i]
		if count.Results == 0 {
			continue // The count of everything, of which there is nothing.
		}
		values := make([]string, 0, len(t.q.By))
		for _, field := range t.q.By {
			if field == engine.FieldCluster {
				values = append(values, q.Cluster)
				continue
			}
			values = append(values, count.Values[slices.Index(q.By, field)])
		}
		group := t.groups[key(values)]
		if group == nil {
			group = newFleetGroup(values)
			t.groups[key(values)] = group
		}
		add(group, count)
	}
	return nil
}

func newFleetGroup(values []string) *fleetGroup {
	return &fleetGroup{count: engine.Count{Values: values}, policies: map[string]struct{}{}, sources: map[string]struct{}{}}
}

func (g *fleetGroup) add(c *engine.Count) {
	g.count.Results += c.Results
	g.count.Subjects += c.Subjects
	g.count.Namespaces += c.Namespaces
	g.count.Newest = max(g.count.Newest, c.Newest)
	if g.count.Oldest == 0 || c.Oldest != 0 && c.Oldest < g.count.Oldest {
		g.count.Oldest = c.Oldest
	}
}

// answer returns the counts in the order of the question.
func (t *fleetTotal) answer() engine.Counts {
	if len(t.q.By) == 0 && len(t.groups) == 0 {
		t.groups[""] = newFleetGroup(nil)
	}
	counts := make([]engine.Count, 0, len(t.groups))
	for _, group := range t.groups {
		count := group.count
		count.Policies, count.Sources, count.Clusters = int64(len(group.policies)), int64(len(group.sources)), int64(len(group.clusters))
		counts = append(counts, count)
	}
	return t.q.Answer(counts)
}

// firstOfFleet answers a question for results in an order from all clusters. Where they are equal in it, those of the
// cluster whose name comes first are first.
func (r *queryStorage) firstOfFleet(ctx context.Context, q engine.OrderQuery) (*v1alpha1.ResultQueryStatus, error) {
	names, err := r.members(ctx)
	if err != nil {
		return nil, store.APIError("list the clusters", err)
	}
	type clusterRow struct {
		engine.ResultRow

		place   engine.OrderPlace
		cluster string
	}
	var rows []clusterRow
	status := &v1alpha1.ResultQueryStatus{}
	for _, name := range names {
		one := q
		one.Cluster, one.Filter = name, q.Filter.Of(name)
		if one.Filter.Never() {
			continue
		}
		page, err := r.source.questions.First(ctx, one)
		if err != nil {
			return nil, ofCluster(name, err)
		}
		for _, row := range page.Rows {
			rows = append(rows, clusterRow{row, q.Place(&row, textOf(&row)), name})
		}
		status.More = status.More || page.More
	}
	slices.SortFunc(rows, func(a, b clusterRow) int {
		return cmp.Or(q.Compare(&a.place, &b.place), strings.Compare(a.cluster, b.cluster))
	})
	status.More = status.More || len(rows) > q.Limit
	for _, row := range rows[:min(len(rows), q.Limit)] {
		of := source{cluster: row.cluster, served: func() []mapping.Kind { return nil }}
		object, err := of.object(&namedRow{ResultRow: row.ResultRow})
		if err != nil {
			return nil, store.APIError("show a result", err)
		}
		status.Results = append(status.Results, v1alpha1.OrderedResult{Namespace: object.Namespace, Result: object.Result})
	}
	return status, nil
}

// noPages refuses to go on behind an answer from several clusters, which has no place in each of them.
func noPages(spec *v1alpha1.ResultQuerySpec) field.ErrorList {
	if spec.Results == nil || spec.Results.Continue == "" {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "results", "continue"), "fleetqueries have one page: raise limit, or filter by timestamp or cluster")}
}
