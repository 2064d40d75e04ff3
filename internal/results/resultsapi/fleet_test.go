// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/store/engine"
)

// fleetRow is a result of a policy about a pod.
func fleetRow(report, policy, result, pod string, seconds int64) engine.ResultRow {
	return engine.ResultRow{
		Report: &engine.ReportRow{ReportPlace: engine.ReportPlace{Namespace: "shop", Kind: "PolicyReport", Name: report}},
		Result: engine.Result{
			Verdict: &engine.Verdict{Source: "kyverno", Policy: policy, Result: result}, Seconds: seconds,
			Subject: &engine.Subject{Kind: "Pod", Namespace: "shop", Name: pod},
		},
	}
}

// testFleet is a database with three clusters, of which south has no results.
func testFleet() *fakeEngine {
	return &fakeEngine{own: "east", revision: 9,
		rows: []engine.ResultRow{fleetRow("a", "both", "fail", "web", 100), fleetRow("b", "one", "fail", "web", 90), fleetRow("c", "both", "pass", "api", 0)},
		others: map[string]*fakeEngine{
			"south": {},
			"west":  {rows: []engine.ResultRow{fleetRow("a", "both", "fail", "web", 95), fleetRow("z", "both", "fail", "api", 100)}},
		},
	}
}

func askFleet(t *testing.T, questions engine.Questions, spec v1alpha1.ResultQuerySpec) (*v1alpha1.FleetQuery, error) {
	t.Helper()
	s := &source{questions: questions, cluster: "east", timeout: questionTimeout}
	s.served = func() []mapping.Kind { return Kinds([]string{"wgpolicyk8s.io"}) }
	for _, served := range storages(s) {
		if served.name() == "fleetqueries" {
			object, err := served.(rest.Creater).Create(t.Context(), &v1alpha1.FleetQuery{Spec: spec}, nil, &metav1.CreateOptions{})
			query, _ := object.(*v1alpha1.FleetQuery)
			return query, err
		}
	}
	t.Fatal("fleetqueries are not served")
	return nil, nil
}

// TestFleetQuery: groups of clusters are added up; policies and sources of the same name are one.
func TestFleetQuery(t *testing.T) {
	const fails = `result == "fail"`
	for _, c := range []struct {
		name string
		spec v1alpha1.ResultQuerySpec
		want string
	}{
		{"by cluster", v1alpha1.ResultQuerySpec{GroupBy: []string{"cluster"}}, "east:3 west:2"},
		{"by cluster and policy", v1alpha1.ResultQuerySpec{GroupBy: []string{"policy", "cluster"}, Filter: fails}, "both,east:1 both,west:2 one,east:1"},
		{"in all clusters with results", v1alpha1.ResultQuerySpec{
			GroupBy: []string{"subject.name"}, Filter: fails, Aggregates: []string{"clusters", "policies"}, Having: "clusters == 2", OrderBy: "policies", Descending: true,
		}, "web:3 in [east west] policies 2"},
		{"in one cluster only", v1alpha1.ResultQuerySpec{GroupBy: []string{"policy"}, Filter: fails, Aggregates: []string{"clusters"}, Having: "clusters == 1"}, "one:1 in [east]"},
		{"everything", v1alpha1.ResultQuerySpec{Aggregates: []string{"clusters", "sources", "policies"}}, ":5 in [east west] policies 2 sources 1"},
		{"nothing", v1alpha1.ResultQuerySpec{Filter: `cluster == "north"`, Aggregates: []string{"clusters"}}, ":0 in []"},
		{"by a cluster", v1alpha1.ResultQuerySpec{Filter: `cluster in ["west"] || policy == "one"`, GroupBy: []string{"cluster", "policy"}}, "east,one:1 west,both:2"},
		{"the first", v1alpha1.ResultQuerySpec{GroupBy: []string{"cluster"}, OrderBy: "results", Limit: 1}, "west:2 more"},
	} {
		query, err := askFleet(t, testFleet(), c.spec)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, group := range query.Status.Groups {
			var values []string
			for _, name := range c.spec.GroupBy {
				values = append(values, group.By[name])
			}
			text := fmt.Sprintf("%s:%d", strings.Join(values, ","), group.Results)
			if group.Clusters != nil {
				text += fmt.Sprintf(" in %v", group.ClusterNames)
				if int(*group.Clusters) != len(group.ClusterNames) {
					t.Errorf("%s: %d clusters with the names %v", c.name, *group.Clusters, group.ClusterNames)
				}
			}
			if group.Policies != nil {
				text += fmt.Sprintf(" policies %d", *group.Policies)
			}
			if group.Sources != nil {
				text += fmt.Sprintf(" sources %d", *group.Sources)
			}
			got = append(got, text)
		}
		if query.Status.More {
			got = append(got, "more")
		}
		if strings.Join(got, " ") != c.want || query.Status.ResourceVersion != "" {
			t.Errorf("%s: got %s of %q, want %s", c.name, got, query.Status.ResourceVersion, c.want)
		}
	}
}

// TestFleetResults: results of all clusters are in one order, and say of which they are.
func TestFleetResults(t *testing.T) {
	query := testkit.Must(askFleet(t, testFleet(), v1alpha1.ResultQuerySpec{Filter: `result == "fail"`, Results: &v1alpha1.ResultOrder{Limit: 3}}))(t)
	var got []string
	for _, r := range query.Status.Results {
		got = append(got, r.Cluster+"/"+r.Report.Name+r.Name)
	}
	if want := "[east/a west/z west/a]"; fmt.Sprint(got) != want || !query.Status.More || query.Status.Continue != "" {
		t.Errorf("got %v, more %t, want %s", got, query.Status.More, want)
	}
}

// TestFleetErrors: what fails in one cluster fails the whole question, and the error says where.
func TestFleetErrors(t *testing.T) {
	broken := testFleet()
	broken.others["west"].before = func(*fakeEngine) error { return fmt.Errorf("%w: gone", engine.ErrUnavailable) }
	for _, spec := range []v1alpha1.ResultQuerySpec{{GroupBy: []string{"policy"}}, {Results: &v1alpha1.ResultOrder{}}, {Aggregates: []string{"policies"}}} {
		if _, err := askFleet(t, broken, spec); err == nil || !strings.Contains(err.Error(), "cluster west: ") {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	if _, err := askFleet(t, broken, v1alpha1.ResultQuerySpec{Filter: `cluster == "east"`}); err != nil {
		t.Errorf("a cluster that is not asked: %v", err)
	}
	_, err := askFleet(t, testFleet(), v1alpha1.ResultQuerySpec{Results: &v1alpha1.ResultOrder{Continue: "x"}})
	if err == nil || !strings.Contains(err.Error(), "spec.results.continue: Forbidden: fleetqueries have one page") {
		t.Errorf("a continue token: %v", err)
	}
	unlisted := &fakeEngine{own: "east", before: func(*fakeEngine) error { return errors.New("broken") }}
	if _, err := askFleet(t, unlisted, v1alpha1.ResultQuerySpec{}); err == nil {
		t.Error("an answer without clusters")
	}
}

// TestQueryKnowsItsCluster: in questions to one cluster, too, it is a field.
func TestQueryKnowsItsCluster(t *testing.T) {
	got, query := groupsOf(t, v1alpha1.ResultQuerySpec{GroupBy: []string{"cluster"}, Filter: `cluster != "other"`, Aggregates: []string{"clusters"}})
	if len(got) != 1 || *query.Status.Groups[0].Clusters != 1 {
		t.Errorf("got %v", got)
	}
	if got, _ := groupsOf(t, v1alpha1.ResultQuerySpec{GroupBy: []string{"policy"}, Filter: `cluster == "other"`}); len(got) != 0 {
		t.Errorf("results of another cluster: %v", got)
	}
}

// TestClusterSummaries: each cluster has one, with results or without.
func TestClusterSummaries(t *testing.T) {
	s := &source{questions: testFleet(), cluster: "east", timeout: questionTimeout}
	s.served = func() []mapping.Kind { return Kinds([]string{"wgpolicyk8s.io"}) }
	lister := clusterSummaries(s).(rest.Lister)
	object := testkit.Must(lister.List(t.Context(), nil))(t)
	list := object.(*v1alpha1.ClusterSummaryList)
	var got []string
	for _, c := range list.Items {
		got = append(got, fmt.Sprintf("%s %d/%d of %d, %d servers, %d reports, changed %d", c.Name, c.FailingPolicies, c.Policies, c.Total, c.Servers, c.Reports, c.Changed.Unix()))
	}
	want := "[east 2/2 of 3, 1 servers, 7 reports, changed 100 south 0/0 of 0, 0 servers, 0 reports, changed 60 west 1/1 of 2, 0 servers, 0 reports, changed 60]"
	if fmt.Sprint(got) != want || list.ResourceVersion != "9" {
		t.Errorf("got %v of %q, want %s", got, list.ResourceVersion, want)
	}
	one, err := lister.(rest.Getter).Get(t.Context(), "west", nil)
	if err != nil || one.(*v1alpha1.ClusterSummary).Fail != 2 {
		t.Errorf("got %+v, %v", one, err)
	}
	if _, err := lister.(rest.Getter).Get(t.Context(), "north", nil); err == nil {
		t.Error("a cluster that there is not")
	}
}
