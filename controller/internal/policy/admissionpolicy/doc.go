// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admissionpolicy evaluates Kubernetes' own policies, ValidatingAdmissionPolicies and
// MutatingAdmissionPolicies, for resources that exist, with the matchers and the CEL of k8s.io/apiserver: a resource is
// evaluated as if it were created now. The API server itself answers admission requests. Nothing is mutated: a resource
// that a policy would change fails, as in Kyverno's reports.
//
// Each binding of a policy gives a result of its own, whose rule is the name of the binding: fail if an expression is
// not met, error if one can't be evaluated, also where failurePolicy ignores that. Its message has what all failed
// expressions say; the API server shows only the first. Audit annotations are properties.
//
// Left out are policies that a scan can't know the answer of: those about other operations than
// CREATE, and those that look at who sent the request or what that user may do.
//
// Parameters come from the context cache, so that a change of one is seen, and reading one costs no request.
package admissionpolicy
