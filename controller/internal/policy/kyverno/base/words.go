// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"os"
	"slices"

	"github.com/docket-project/docket/api/report"
)

// The words that Kyverno has in its API and in its reports, of which its Go constants go with the engines that
// have them.
const (
	annotationCategory = "policies.kyverno.io/category"
	annotationSeverity = "policies.kyverno.io/severity"
	annotationScored   = "policies.kyverno.io/scored"
	// annotationAutogen says for which workloads rules are generated.
	annotationAutogen = "pod-policies.kyverno.io/autogen-controllers"
	// labelExceptionPriority decides between several exceptions.
	labelExceptionPriority = "polex.kyverno.io/priority"

	sourceClassic         = "kyverno"
	sourceValidating      = "KyvernoValidatingPolicy"
	sourceImageValidating = "KyvernoImageValidatingPolicy"
	sourceMutating        = "KyvernoMutatingPolicy"
	sourceGenerating      = "KyvernoGeneratingPolicy"

	failurePolicyIgnore = "Ignore"
	actionEnforce       = "Enforce"
)

// KyvernoNamespace is where Kyverno runs, and has its Secrets.
func KyvernoNamespace() string {
	if namespace := os.Getenv("KYVERNO_NAMESPACE"); namespace != "" {
		return namespace
	}
	return "kyverno"
}

// severityOf returns the severity that an annotation names; empty for any other word.
func severityOf(annotation string) report.Severity {
	if severity := report.Severity(annotation); slices.Contains(report.Severities(), severity) {
		return severity
	}
	return ""
}
