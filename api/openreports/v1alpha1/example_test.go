// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"fmt"

	"github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
)

// The source of a report counts before the sources of its results.
func ExampleReportBody_GetSource() {
	trivy, kyverno := "trivy", "kyverno"
	body := v1alpha1.ReportBody{Results: []report.Result{{Policy: "CVE-2026-1", Source: &trivy}}}
	fmt.Println(body.GetSource())
	body.Source = &kyverno
	fmt.Println(body.GetSource())
	// Output:
	// trivy
	// kyverno
}
