// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package resultview

import (
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

func TestParseOrder(t *testing.T) {
	for text, want := range map[string]Order{
		"": {}, "severity": {Field: "severity"}, "timestamp,desc": {Field: "timestamp", Descending: true}, "subject.name,asc": {Field: "subject.name"},
	} {
		if got, err := ParseOrder(text); err != nil || got != want {
			t.Errorf("%q: got %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"colour": "timestamp, severity", "message,desc": `"message"`, "severity,down": `"down" is no direction: choose from asc, desc`, ",desc": `"" is no order`,
	} {
		if _, err := ParseOrder(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got the error %v, want one with %s", text, err, want)
		}
	}
}

// TestOrders: what people can sort by, and how many they get, is what the server knows.
func TestOrders(t *testing.T) {
	var known []string
	for _, field := range engine.Orders() {
		known = append(known, string(field))
	}
	if !slices.Equal(Orders(), known) || MaxOrdered != engine.MaxOrdered {
		t.Errorf("got %v, %d; the server has %v, %d", Orders(), MaxOrdered, known, engine.MaxOrdered)
	}
}

func TestFirst(t *testing.T) {
	web, shop := result("shop", "p", "fail", "high", "Pod/web"), result("", "q", "fail", "low", "Namespace/shop")
	answer := v1alpha1.ResultQueryStatus{Results: []v1alpha1.OrderedResult{
		{Namespace: web.Namespace, Name: web.Name, Result: web.Result}, {Name: shop.Name, Result: shop.Result},
	}}
	ask := func(namespace string) (c *cluster, seen []v1alpha1.PolicyResult, left int64) {
		t.Helper()
		c = &cluster{t: t, answer: answer}
		left = testkit.Must(c.client().First(t.Context(), namespace, Selection{Results: []string{"fail"}}, Order{Field: "severity", Descending: true}, 2,
			func(r *v1alpha1.PolicyResult) error {
				seen = append(seen, *r)
				return nil
			}))(t)
		return c, seen, left
	}
	c, seen, left := ask("")
	if len(seen) != 2 || seen[0].Namespace != "shop" || seen[0].Name != web.Name || seen[0].Subject.String() != "Pod/shop/web" || seen[1].Name != shop.Name || left != 0 {
		t.Errorf("got %+v, and %d are left", seen, left)
	}
	want := v1alpha1.ResultOrder{OrderBy: "severity", Descending: true, Limit: 2}
	if c.spec.Filter != `result in ["fail"]` || c.spec.Results == nil || *c.spec.Results != want {
		t.Errorf("asked for %+v", c.spec)
	}
	// How many are left is another question.
	answer.More, answer.Groups = true, []v1alpha1.ResultGroup{{Results: 30}}
	c, _, left = ask("shop")
	if left != 28 || c.spec.Filter != `result in ["fail"]` || c.spec.Results != nil {
		t.Errorf("%d are left, asked for %+v", left, c.spec)
	}
	answer.Groups[0].Results = 1
	if _, _, left = ask("shop"); left != 1 {
		t.Errorf("%d are left after most are gone, want that there are some", left)
	}
}
