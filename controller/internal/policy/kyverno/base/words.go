// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import "os"

// The words that Kyverno has in its API and in its reports, of which its Go constants go with the engines that
// have them.
const (
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
