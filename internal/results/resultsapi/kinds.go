// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/reports/kinds"
	"github.com/docket-project/docket/internal/store/engine"
)

// served is a resource of the group, and what serves it.
type served interface {
	rest.Storage
	register(*runtime.Scheme) error
	name() string
}

func (r *resource) name() string { return r.plural }

// storages returns what serves all resources of the group. Without a source they can only be registered.
func storages(s *source) []served {
	return []served{
		&resultStorage{source: s, resource: resource{
			kind: "PolicyResult", plural: "policyresults", singular: "policyresult", shortNames: []string{"pres"}, namespaced: true,
			newObject: func() runtime.Object { return &v1alpha1.PolicyResult{} },
			newList:   func() runtime.Object { return &v1alpha1.PolicyResultList{} },
			fields:    resultFields(), labels: derivedLabels(), TableConvertor: resultTable("PolicyResult"),
		}},
		&resultStorage{source: s, resource: resource{
			kind: "ClusterPolicyResult", plural: "clusterpolicyresults", singular: "clusterpolicyresult", shortNames: []string{"cpres"},
			newObject: func() runtime.Object { return &v1alpha1.ClusterPolicyResult{} },
			newList:   func() runtime.Object { return &v1alpha1.ClusterPolicyResultList{} },
			fields:    resultFields(), labels: derivedLabels(), TableConvertor: resultTable("ClusterPolicyResult"),
		}},
		policySummaries(s), clusterPolicySummaries(s), namespaceSummaries(s), resourceSummaries(s),
		&queryStorage{source: s, resource: resource{
			kind: "ResultQuery", plural: "resultqueries", singular: "resultquery",
			newObject:      func() runtime.Object { return &v1alpha1.ResultQuery{} },
			TableConvertor: queryTable("ResultQuery"),
		}},
		&queryStorage{source: s, resource: resource{
			kind: "LocalResultQuery", plural: "localresultqueries", singular: "localresultquery", namespaced: true,
			newObject:      func() runtime.Object { return &v1alpha1.LocalResultQuery{} },
			TableConvertor: queryTable("LocalResultQuery"),
		}},
		clusterSummaries(s),
		&queryStorage{source: s, fleet: true, resource: resource{
			kind: "FleetQuery", plural: "fleetqueries", singular: "fleetquery",
			newObject:      func() runtime.Object { return &v1alpha1.FleetQuery{} },
			TableConvertor: queryTable("FleetQuery"),
		}},
	}
}

// summaryKind is what a kind of summaries has of its own, whose objects are T.
type summaryKind[T any] struct {
	resource

	by    []engine.Field
	about *engine.Filter
	read  func(context.Context) ([]summary, engine.State, error)
	group func(counter) (of summary, within string)
	item  func(summary) T
	list  func(metav1.ListMeta, []T) runtime.Object
}

// newSummaries returns what serves a kind of summaries.
func newSummaries[T any, P interface {
	*T
	runtime.Object
}](s *source, kind summaryKind[T],
) served {
	kind.newObject = func() runtime.Object { return P(new(T)) }
	kind.newList = func() runtime.Object { return kind.list(metav1.ListMeta{}, nil) }
	return &summaryStorage{
		source: s, resource: kind.resource, by: kind.by, about: kind.about, read: kind.read, group: kind.group,
		item: func(of summary) runtime.Object {
			made := kind.item(of)
			return P(&made)
		},
		list: func(meta metav1.ListMeta, all []summary) runtime.Object {
			items := make([]T, len(all))
			for i := range all {
				items[i] = kind.item(all[i])
			}
			return kind.list(meta, items)
		},
	}
}

func policySummaries(s *source) served {
	type object = v1alpha1.PolicySummary
	return newSummaries[object](s, summaryKind[object]{
		resource: resource{
			kind: "PolicySummary", plural: "policysummaries", singular: "policysummary", shortNames: []string{"psum"}, namespaced: true,
			fields: policyFields(),
			TableConvertor: summaryTable("PolicySummary", []kinds.Column[*object]{
				textColumn("Policy", "Name of the policy.", func(p *object) string { return p.Policy }),
				textColumn("Source", "Engine that found the results.", func(p *object) string { return p.Source }),
			}, nil),
		},
		group: func(c counter) (summary, string) {
			return summary{namespace: c.namespace, name: policyName(c.source, c.policy), source: c.source, policy: c.policy}, ""
		},
		item: func(of summary) object {
			return object{ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: of.name}, Source: of.source, Policy: of.policy, Counts: of.counts}
		},
		list: func(meta metav1.ListMeta, items []object) runtime.Object {
			return &v1alpha1.PolicySummaryList{ListMeta: meta, Items: items}
		},
	})
}

func clusterPolicySummaries(s *source) served {
	type object = v1alpha1.ClusterPolicySummary
	return newSummaries[object](s, summaryKind[object]{
		resource: resource{
			kind: "ClusterPolicySummary", plural: "clusterpolicysummaries", singular: "clusterpolicysummary", shortNames: []string{"cpsum"},
			fields: policyFields(),
			TableConvertor: summaryTable("ClusterPolicySummary", []kinds.Column[*object]{
				textColumn("Policy", "Name of the policy.", func(p *object) string { return p.Policy }),
				textColumn("Source", "Engine that found the results.", func(p *object) string { return p.Source }),
			}, []kinds.Column[*object]{
				integerColumn("Namespaces", "Number of namespaces with results.", func(p *object) int64 { return p.Namespaces }),
				integerColumn("Failing", "Number of namespaces where the policy fails.", func(p *object) int64 { return p.FailingNamespaces }),
			}),
		},
		group: func(c counter) (summary, string) {
			return summary{name: policyName(c.source, c.policy), source: c.source, policy: c.policy}, c.namespace
		},
		item: func(of summary) object {
			return object{
				ObjectMeta: metav1.ObjectMeta{Name: of.name}, Source: of.source, Policy: of.policy,
				Namespaces: of.groups, FailingNamespaces: of.failing, Counts: of.counts,
			}
		},
		list: func(meta metav1.ListMeta, items []object) runtime.Object {
			return &v1alpha1.ClusterPolicySummaryList{ListMeta: meta, Items: items}
		},
	})
}

func namespaceSummaries(s *source) served {
	type object = v1alpha1.NamespaceSummary
	return newSummaries[object](s, summaryKind[object]{
		resource: resource{
			kind: "NamespaceSummary", plural: "namespacesummaries", singular: "namespacesummary", shortNames: []string{"nssum"}, namespaced: true,
			TableConvertor: summaryTable("NamespaceSummary", []kinds.Column[*object]{
				kinds.NameColumn[*object]("Name of the namespace."),
			}, []kinds.Column[*object]{
				integerColumn("Policies", "Number of policies with results.", func(n *object) int64 { return n.Policies }),
				integerColumn("Failing", "Number of policies that fail.", func(n *object) int64 { return n.FailingPolicies }),
			}),
		},
		group: func(c counter) (summary, string) {
			return summary{namespace: c.namespace, name: c.namespace}, c.source + "\x00" + c.policy
		},
		item: func(of summary) object {
			return object{
				ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: of.name},
				Policies:   of.groups, FailingPolicies: of.failing, Counts: of.counts,
			}
		},
		list: func(meta metav1.ListMeta, items []object) runtime.Object {
			return &v1alpha1.NamespaceSummaryList{ListMeta: meta, Items: items}
		},
	})
}

func resourceSummaries(s *source) served {
	type object = v1alpha1.ResourceSummary
	return newSummaries[object](s, summaryKind[object]{
		resource: resource{
			kind: "ResourceSummary", plural: "resourcesummaries", singular: "resourcesummary", shortNames: []string{"rsum"}, namespaced: true,
			fields: selectables(subjectFields()...),
			TableConvertor: summaryTable("ResourceSummary", []kinds.Column[*object]{
				textColumn("Resource", "Kind, namespace and name of the resource.", func(r *object) string { return r.Subject.String() }),
			}, []kinds.Column[*object]{
				integerColumn("Policies", "Number of policies with results.", func(r *object) int64 { return r.Policies }),
				integerColumn("Failing", "Number of policies that fail.", func(r *object) int64 { return r.FailingPolicies }),
			}),
		},
		by: subjectFields(), about: aboutSomething(),
		group: func(c counter) (summary, string) {
			return summary{namespace: c.namespace, name: resourceName(&c.subject), subject: c.subject}, c.source + "\x00" + c.policy
		},
		item: func(of summary) object {
			return object{
				ObjectMeta: metav1.ObjectMeta{Namespace: of.namespace, Name: of.name}, Subject: of.subject,
				Policies: of.groups, FailingPolicies: of.failing, Counts: of.counts,
			}
		},
		list: func(meta metav1.ListMeta, items []object) runtime.Object {
			return &v1alpha1.ResourceSummaryList{ListMeta: meta, Items: items}
		},
	})
}
