// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultsapi

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestSummaries(t *testing.T) {
	e := example()
	policies := testkit.Must(storageOf[*summaryStorage](t, e, "policysummaries").List(inNamespace(t, "shop"), options(t, "", "policy=labels", 0, "")))(t)
	items := policies.(*v1alpha1.PolicySummaryList).Items
	if len(items) != 1 || items[0].Name != "kyverno.labels" || items[0].Namespace != "shop" || items[0].Pass != 1 || items[0].Fail != 2 || items[0].Total != 3 ||
		items[0].FailBySeverity["high"] != 1 || items[0].FailBySeverity["critical"] != 1 {
		t.Errorf("got %+v", items)
	}
	cluster := testkit.Must(storageOf[*summaryStorage](t, e, "clusterpolicysummaries").Get(t.Context(), "kyverno.labels", nil))(t)
	if got := cluster.(*v1alpha1.ClusterPolicySummary); got.Namespaces != 2 || got.FailingNamespaces != 1 || got.Total != 4 {
		t.Errorf("got %+v", got)
	}
	namespace := testkit.Must(storageOf[*summaryStorage](t, e, "namespacesummaries").Get(inNamespace(t, "shop"), "shop", nil))(t)
	if got := namespace.(*v1alpha1.NamespaceSummary); got.Policies != 2 || got.FailingPolicies != 1 || got.Total != 4 {
		t.Errorf("got %+v", got)
	}
	if _, err := storageOf[*summaryStorage](t, e, "namespacesummaries").Get(inNamespace(t, "shop"), "bank", nil); !apierrors.IsNotFound(err) {
		t.Errorf("another namespace: got the error %v", err)
	}
}

// TestResourceSummaries: resources are counted, and nothing else is; their names are those of objects, and no two
// have the same.
func TestResourceSummaries(t *testing.T) {
	e := example()
	r := storageOf[*summaryStorage](t, e, "resourcesummaries")
	list := func(namespace, fields string) []v1alpha1.ResourceSummary {
		t.Helper()
		list := testkit.Must(r.List(inNamespace(t, namespace), options(t, "", fields, 0, "")))(t)
		return list.(*v1alpha1.ResourceSummaryList).Items
	}
	if got := len(list("", "")); got != 3 {
		t.Errorf("%d resources have results in namespaces, want 3", got)
	}
	items := list("shop", "subject.kind=Pod,subject.name=web-1")
	if len(items) != 1 || items[0].Subject.String() != "Pod/shop/web-1" || items[0].Namespace != "shop" || items[0].Pass != 2 || items[0].Fail != 1 || items[0].Total != 3 ||
		items[0].Policies != 2 || items[0].FailingPolicies != 1 || items[0].FailBySeverity["high"] != 1 {
		t.Fatalf("got %+v", items)
	}
	if got, err := r.Get(inNamespace(t, "shop"), items[0].Name, nil); err != nil || got.(*v1alpha1.ResourceSummary).Total != 3 {
		t.Errorf("%s: %+v, %v", items[0].Name, got, err)
	}
	seen := map[string]bool{}
	for _, subject := range []v1alpha1.Subject{
		{Kind: "Pod", Name: "web"}, {Kind: "Pod", Name: "web", Namespace: "shop"}, {APIVersion: "v1", Kind: "Pod", Name: "web"}, {Kind: "Pod", Name: "Web_1"},
		{Kind: "Pod"}, {Name: "pod"}, {Kind: "Pod", Name: strings.Repeat("long", 80)}, {Kind: "ClusterRole", Name: "system:node"},
	} {
		name := resourceName(&subject)
		if errs := validation.IsDNS1123Subdomain(name); len(errs) > 0 || seen[name] {
			t.Errorf("%v has the name %q: %v, or it is another's", subject, name, errs)
		}
		seen[name] = true
	}
}

// TestSummaryLabels: summaries have no labels, so that a selector gets all or none of them. Labels of results are
// refused.
func TestSummaryLabels(t *testing.T) {
	r := storageOf[*summaryStorage](t, example(), "policysummaries")
	for selector, want := range map[string]int{"": 2, "team=a": 0, "team": 0, "!team": 2, "team!=a": 2, v1alpha1.LabelSeverity + "=high": -1, "!" + v1alpha1.LabelResult: -1} {
		list, err := r.List(inNamespace(t, "shop"), options(t, selector, "", 0, ""))
		if want < 0 {
			if !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), "policysummaries have no labels: use field selectors") {
				t.Errorf("%s: got the error %v, want 400", selector, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", selector, err)
			continue
		}
		if got := len(list.(*v1alpha1.PolicySummaryList).Items); got != want {
			t.Errorf("%s: %d summaries, want %d", selector, got, want)
		}
	}
}

// TestSummaryFields: an unknown field is answered by those that there are, and no labels, which summaries don't have.
func TestSummaryFields(t *testing.T) {
	_, _, err := storageOf[*summaryStorage](t, example(), "policysummaries").convertField("severity", "high")
	if err == nil || !strings.Contains(err.Error(), "metadata.namespace, source, policy") || strings.Contains(err.Error(), "labels") {
		t.Errorf("got the error %v", err)
	}
}

func TestSummaryPages(t *testing.T) {
	r := storageOf[*summaryStorage](t, example(), "policysummaries")
	var got []string
	for token, first := "", true; first || token != ""; first = false {
		list := testkit.Must(r.List(inNamespace(t, ""), options(t, "", "", 1, token)))(t)
		page := list.(*v1alpha1.PolicySummaryList)
		for _, item := range page.Items {
			got = append(got, item.Namespace+"/"+item.Policy)
		}
		token = page.Continue
	}
	if want := []string{"bank/bench/1.2.3 long name", "bank/labels", "shop/labels", "shop/probes"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPolicyNames(t *testing.T) {
	seen := map[string]string{}
	for _, test := range [][2]string{
		{"kyverno", "labels"}, {"", "kyverno.labels"}, {"a.b", "c"}, {"a", "b.c"}, {"Trivy", "CVE-2026-1"}, {"trivy", "CVE-2026-1"}, {"kyverno", "a b"},
		{"kyverno", "a_b"}, {"", ""}, {"kyverno", strings.Repeat("long", 100)},
	} {
		name := policyName(test[0], test[1])
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			t.Errorf("%q of %q: %q is no name: %v", test[1], test[0], name, problems)
		}
		if other, ok := seen[name]; ok {
			t.Errorf("%q and %q have the name %q", test, other, name)
		}
		seen[name] = test[0] + "/" + test[1]
	}
}

func TestQuery(t *testing.T) {
	e := example()
	query := &v1alpha1.ResultQuery{Spec: v1alpha1.ResultQuerySpec{Filter: `result == "fail"`, GroupBy: []string{"severity"}}}
	answered := testkit.Must(storageOf[*queryStorage](t, e, "resultqueries").Create(t.Context(), query, nil, nil))(t)
	groups := answered.(*v1alpha1.ResultQuery).Status.Groups
	if len(groups) != 2 || groups[0].By["severity"] != "critical" || groups[0].Results != 1 || groups[1].By["severity"] != "high" {
		t.Errorf("got %+v", groups)
	}
	local := &v1alpha1.LocalResultQuery{}
	answered = testkit.Must(storageOf[*queryStorage](t, e, "localresultqueries").Create(inNamespace(t, "bank"), local, nil, nil))(t)
	if groups := answered.(*v1alpha1.LocalResultQuery).Status.Groups; len(groups) != 1 || groups[0].Results != 2 {
		t.Errorf("of one namespace: got %+v", groups)
	}
}

func TestQueryErrors(t *testing.T) {
	r := storageOf[*queryStorage](t, example(), "resultqueries")
	for name, test := range map[string]struct {
		spec v1alpha1.ResultQuerySpec
		want string
	}{
		"expression":   {v1alpha1.ResultQuerySpec{Filter: "policy.matches('a')"}, "spec.filter"},
		"too long":     {v1alpha1.ResultQuerySpec{Filter: strings.Repeat(" ", maxExpression+1)}, "spec.filter: Too long"},
		"field":        {v1alpha1.ResultQuerySpec{GroupBy: []string{"policy", "timestamp"}}, `spec.groupBy[1]: Unsupported value: "timestamp"`},
		"twice":        {v1alpha1.ResultQuerySpec{GroupBy: []string{"policy", "policy"}}, "spec.groupBy[1]: Duplicate"},
		"property":     {v1alpha1.ResultQuerySpec{GroupBy: []string{`properties["a"b"]`}}, `spec.groupBy[0]: Invalid value: "properties[\"a\"b\"]": the name of a property, "a\"b", has a quote`},
		"no bracket":   {v1alpha1.ResultQuerySpec{GroupBy: []string{`properties["a`}}, `spec.groupBy[0]: Unsupported value`},
		"field, too":   {v1alpha1.ResultQuerySpec{GroupBy: []string{"properties.a"}}, `spec.groupBy[0]: Unsupported value`},
		"filter":       {v1alpha1.ResultQuerySpec{Filter: `properties["a\"b"] == ""`}, `spec.filter: Invalid value`},
		"aggregate":    {v1alpha1.ResultQuerySpec{Aggregates: []string{"median"}}, "spec.aggregates[0]"},
		"having":       {v1alpha1.ResultQuerySpec{Having: "sources > 1"}, "spec.having: Invalid value: \"sources > 1\": sources is not counted: add it to spec.aggregates"},
		"long having":  {v1alpha1.ResultQuerySpec{Having: strings.Repeat(" ", maxExpression+1)}, "spec.having: Too long"},
		"order":        {v1alpha1.ResultQuerySpec{OrderBy: "rule"}, "spec.orderBy"},
		"limit":        {v1alpha1.ResultQuerySpec{Limit: maxGroups + 1}, "spec.limit"},
		"limit below":  {v1alpha1.ResultQuerySpec{Limit: -1}, "spec.limit"},
		"many columns": {v1alpha1.ResultQuerySpec{GroupBy: groupFields()}, "spec.groupBy: Too many"},
	} {
		_, err := r.Create(t.Context(), &v1alpha1.ResultQuery{Spec: test.spec}, nil, nil)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got the error %v, want one with %q", name, err, test.want)
		}
	}
}
