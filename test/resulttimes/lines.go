// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
)

// The tables.
const (
	pages     = "pages"
	summaries = "summaries"
	questions = "questions"
	orders    = "orders"
)

func sections() []string { return []string{pages, summaries, questions, orders} }

// lines returns those of a table.
func (s *subjects) lines(ctx context.Context, client *rest.RESTClient, section string) ([]line, error) {
	switch section {
	case pages:
		return s.pages(client), nil
	case summaries:
		return s.summaries(client), nil
	case questions:
		return append(s.counted(client), s.grouped(client)...), nil
	default:
		return s.ordered(ctx, client)
	}
}

// pages are first pages of results in reports of namespaces, by selectors.
func (s *subjects) pages(client *rest.RESTClient) []line {
	list := func(name, selector, value, namespace string, results int64, meets func(*v1alpha1.PolicyResult) bool) line {
		resource := "policyresults"
		if namespace != "" {
			resource = "namespaces/" + namespace + "/" + resource
		}
		return line{name, func() *rest.Request {
			request := client.Get().AbsPath(path(resource)).Param("limit", strconv.Itoa(s.limit))
			if selector != "" {
				request.Param(selector, value)
			}
			return request
		}, pageOf(min(results, int64(s.limit)), meets)}
	}
	result := func(result string) func(*v1alpha1.PolicyResult) bool {
		return func(r *v1alpha1.PolicyResult) bool { return r.Result.Result == result }
	}
	severe := v1alpha1.LabelSeverity + " in (critical,high)," + v1alpha1.LabelResult + "=fail"
	return []line{
		list("all results", "", "", "", s.results, func(*v1alpha1.PolicyResult) bool { return true }),
		list("that fail", "fieldSelector", "result=fail", "", s.fail, result("fail")),
		list("of policy "+s.policy, "fieldSelector", "policy="+s.policy, "", s.ofPolicy, func(r *v1alpha1.PolicyResult) bool { return r.Policy == s.policy }),
		list("about kind "+s.kind, "fieldSelector", "subject.kind="+s.kind, "", s.ofKind, func(r *v1alpha1.PolicyResult) bool {
			return r.Subject != nil && r.Subject.Kind == s.kind
		}),
		list("that fail in namespace "+s.namespace, "fieldSelector", "result=fail", s.namespace, s.inNamespace.fail, func(r *v1alpha1.PolicyResult) bool {
			return r.Result.Result == "fail" && r.Namespace == s.namespace
		}),
		list("that fail with critical or high severity, by labels", "labelSelector", severe, "", s.severe, func(r *v1alpha1.PolicyResult) bool {
			return r.Result.Result == "fail" && (r.Severity == "critical" || r.Severity == "high")
		}),
		list("that are errors", "fieldSelector", "result=error", "", s.errors, result("error")),
		list("of a policy that has none", "fieldSelector", "policy=there-is-no-such-policy", "", 0, nil),
	}
}

func (s *subjects) summaries(client *rest.RESTClient) []line {
	list := func(name, resource string, check func([]byte) (int, error)) line {
		return line{name, func() *rest.Request { return client.Get().AbsPath(path(resource)) }, check}
	}
	return []line{
		list("policies of the cluster", "clusterpolicysummaries", listOf(s.policies)),
		list("policies of namespace "+s.namespace, "namespaces/"+s.namespace+"/policysummaries", listOf(s.policiesOfNamespace)),
		list("policies of all namespaces", "policysummaries", listOf(s.policiesOfNamespaces)),
		list("namespaces", "namespacesummaries", listOf(s.namespaces)),
		list("clusters", "clustersummaries", someList),
	}
}

const (
	fails  = `result == "fail"`
	severe = `result == "fail" && severity == "critical"`
)

// question returns a line with a question about everything.
func (s *subjects) question(client *rest.RESTClient, name string, check func([]byte) (int, error), spec v1alpha1.ResultQuerySpec) line {
	return line{name, func() *rest.Request { return question(client, "resultqueries", &spec) }, check}
}

// counted are questions that counters answer, or few results.
func (s *subjects) counted(client *rest.RESTClient) []line {
	all := s.everything
	byCounts := "results"
	resource := []string{"subject.kind", "subject.namespace", "subject.name"}
	local := v1alpha1.ResultQuerySpec{Filter: fails, GroupBy: resource, OrderBy: byCounts, Descending: true, Limit: 20}
	return []line{
		s.question(client, "failures by severity and source", groupsOf(all.fail, true), v1alpha1.ResultQuerySpec{Filter: fails, GroupBy: []string{"severity", "source"}}),
		s.question(client, "by severity with the numbers of policies and sources, and `having`", groupsOf(all.results, false), v1alpha1.ResultQuerySpec{
			GroupBy: []string{"severity"}, Aggregates: []string{"policies", "sources"}, Having: "policies >= 2 && results > 10",
		}),
		s.question(client, "in reports older than a day", groupsOf(all.results, false), v1alpha1.ResultQuerySpec{
			Filter: `report.created < now - duration("24h")`, GroupBy: []string{"report.namespace"}, Limit: 1000,
		}),
		{"the resources of namespace " + s.namespace + " with most failures", func() *rest.Request {
			return question(client, "namespaces/"+s.namespace+"/localresultqueries", &local)
		}, groupsOf(s.inNamespace.fail, true)},
	}
}

// grouped are questions for which all results are read.
func (s *subjects) grouped(client *rest.RESTClient) []line {
	all := s.everything
	resource := []string{"subject.kind", "subject.namespace", "subject.name"}
	property := fmt.Sprintf("properties[%q]", s.property)
	most := v1alpha1.ResultQuerySpec{Filter: fails, GroupBy: resource, OrderBy: "results", Descending: true, Limit: 20}
	bySources := v1alpha1.ResultQuerySpec{GroupBy: resource, Aggregates: []string{"sources"}, Having: "sources >= 1 && results > 1"}
	failBySources := bySources
	failBySources.Filter = fails
	return []line{
		s.question(client, "by kind of subject, with the number of subjects", groupsOf(all.results, true), v1alpha1.ResultQuerySpec{
			GroupBy: []string{"subject.kind"}, Aggregates: []string{"subjects"},
		}),
		s.question(client, "the resources with most failures", groupsOf(all.fail, true), most),
		s.question(client, "by policy, of those with `host` in the message", groupsOf(all.results, false), v1alpha1.ResultQuerySpec{
			Filter: `message.contains("host")`, GroupBy: []string{"policy"},
		}),
		s.question(client, "by message", groupsOf(all.results, true), v1alpha1.ResultQuerySpec{GroupBy: []string{"message"}}),
		s.question(client, "failures by source and message", groupsOf(all.fail, true), v1alpha1.ResultQuerySpec{Filter: fails, GroupBy: []string{"source", "message"}}),
		s.question(client, "by day", groupsOf(all.results, true), v1alpha1.ResultQuerySpec{GroupBy: []string{"day"}}),
		s.question(client, "failures by day and source", groupsOf(all.fail, true), v1alpha1.ResultQuerySpec{Filter: fails, GroupBy: []string{"day", "source"}}),
		s.question(client, "by property `"+s.property+"`", groupsOf(all.results, true), v1alpha1.ResultQuerySpec{GroupBy: []string{property}}),
		s.question(client, "critical failures by property `"+s.property+"`, with the number of policies", groupsOf(all.fail, false), v1alpha1.ResultQuerySpec{
			Filter: severe, GroupBy: []string{property}, Aggregates: []string{"policies"},
		}),
		s.question(client, "by resource with the number of sources, and `having`", groupsOf(all.results, false), bySources),
		s.question(client, "failures by resource with the number of sources, and `having`", groupsOf(all.fail, false), failBySources),
		s.question(client, "in reports younger than a day, by namespace", groupsOf(all.results, false), v1alpha1.ResultQuerySpec{
			Filter: `report.created > now - duration("24h")`, GroupBy: []string{"report.namespace"}, Limit: 1000,
		}),
	}
}

// ordered are questions for results in an order.
func (s *subjects) ordered(ctx context.Context, client *rest.RESTClient) ([]line, error) {
	question := func(name, filter, by string, limit int32, of int64) line {
		return s.question(client, name, orderOf(min(of, int64(limit))), v1alpha1.ResultQuerySpec{
			Filter: filter, Results: &v1alpha1.ResultOrder{OrderBy: by, Descending: by == "timestamp", Limit: limit},
		})
	}
	const few, many = 20, 1000
	newest := v1alpha1.ResultQuerySpec{Filter: fails, Results: &v1alpha1.ResultOrder{OrderBy: "timestamp", Descending: true, Limit: few}}
	lines := []line{question("the 20 newest failures", fails, "timestamp", few, s.everything.fail)}
	first, err := s.ask(ctx, client, "resultqueries", newest)
	if err != nil {
		return nil, err
	}
	if first.Continue != "" {
		next := newest
		next.Results = newest.Results.DeepCopy()
		next.Results.Continue = first.Continue
		lines = append(lines, s.question(client, "the second page", orderOf(min(few, s.everything.fail-few)), next))
	}
	inNamespace := fails + " && report.namespace == " + strconv.Quote(s.namespace)
	return append(lines,
		question("the newest failures of namespace "+s.namespace, inNamespace, "timestamp", few, s.inNamespace.fail),
		question("the worst failures of namespace "+s.namespace, inNamespace, "severity", few, s.inNamespace.fail),
		question("failures by severity", fails, "severity", few, s.everything.fail),
		question("failures by policy", fails, "policy", few, s.everything.fail),
		question("failures by name of the subject", fails, "subject.name", few, s.everything.fail),
		question("the newest of all results", "", "timestamp", few, s.everything.results),
		question("the worst of all results", "", "severity", few, s.everything.results),
		question("the 1,000 newest failures", fails, "timestamp", many, s.everything.fail),
	), nil
}
