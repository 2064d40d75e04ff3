// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha2_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
)

// A report of one result about one pod, as a producer would create it.
func ExamplePolicyReport() {
	r := v1alpha2.PolicyReport{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha2.SchemeGroupVersion.String(), Kind: "PolicyReport"},
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
		ReportBody: v1alpha2.ReportBody{
			Scope:   &report.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web"},
			Results: []report.Result{{Policy: "require-labels", Rule: "check-team", Result: report.OutcomeFail, Severity: report.SeverityHigh}},
		},
	}
	text, err := yaml.Marshal(r)
	if err != nil {
		panic(err)
	}
	fmt.Print(string(text))
	// Output:
	// apiVersion: wgpolicyk8s.io/v1alpha2
	// kind: PolicyReport
	// metadata:
	//   name: web
	//   namespace: shop
	// results:
	// - policy: require-labels
	//   result: fail
	//   rule: check-team
	//   severity: high
	// scope:
	//   apiVersion: v1
	//   kind: Pod
	//   name: web
	//   namespace: shop
}
