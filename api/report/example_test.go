// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	openreportsv1alpha1 "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	wgpolicyv1alpha2 "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
)

// Reports of any kind, as an API server sends them, are read in one way.
func ExampleAccessor() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{wgpolicyv1alpha2.AddToScheme, openreportsv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme).UniversalDeserializer()
	for _, sent := range []string{
		`{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"a","namespace":"shop"},
		  "results":[{"source":"kyverno","policy":"require-labels","result":"fail"}]}`,
		`{"apiVersion":"openreports.io/v1alpha1","kind":"Report","metadata":{"name":"b","namespace":"shop"},
		  "source":"trivy","results":[{"policy":"CVE-2026-1","result":"pass"}]}`,
	} {
		object, _, err := decoder.Decode([]byte(sent), nil, nil)
		if err != nil {
			panic(err)
		}
		if r, ok := object.(report.Accessor); ok {
			result := r.GetResults()[0]
			fmt.Printf("%s/%s: %s found that %s is %s\n", r.GetNamespace(), r.GetName(), r.GetSource(), result.Policy, result.Result)
		}
	}
	// Output:
	// shop/a: kyverno found that require-labels is fail
	// shop/b: trivy found that CVE-2026-1 is pass
}

// A producer counts the results for the summary of its report.
func ExampleCount() {
	r := wgpolicyv1alpha2.PolicyReport{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
	r.Results = []report.Result{
		{Policy: "require-labels", Rule: "check-team", Result: report.OutcomePass},
		{Policy: "require-labels", Rule: "check-owner", Result: report.OutcomeFail},
	}
	r.Summary = report.Count(r.Results).Summary()
	fmt.Println("pass", *r.Summary.Pass, "fail", *r.Summary.Fail)
	// Output: pass 1 fail 1
}
