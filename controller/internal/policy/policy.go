// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/api/report"
)

// Compiler compiles the objects that users write.
type Compiler interface {
	// Compile returns the policy that object describes, with those of the exceptions, and bindings ([ExceptionKinds]),
	// that refer to it. It never fails: a policy that can't be evaluated has a [Policy.Problem], and gives error results
	// for everything that its targets match. Expired exceptions ([ExpiryOf]) don't count, so the caller has to compile
	// again when one expires.
	Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) Policy
}

// ByGroup is a [Compiler] that leaves the policies of some API groups to others.
type ByGroup struct {
	// Groups have the compilers of API groups.
	Groups map[string]Compiler
	// Compiler is that of all other groups.
	Compiler
}

// Compile implements [Compiler].
func (b ByGroup) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) Policy {
	if compiler, ok := b.Groups[object.GroupVersionKind().Group]; ok {
		return compiler.Compile(object, exceptions)
	}
	return b.Compiler.Compile(object, exceptions)
}

// Policy is a compiled policy. It never changes and is safe for concurrent use.
type Policy interface {
	// Identity names the policy.
	Identity() Identity
	// Presentation is what its results say in addition to their outcome.
	Presentation() Presentation
	// Fingerprint is the same for two policies only if they give equal results for every subject. It does not
	// depend on labels, status, and annotations that no engine reads.
	Fingerprint() string
	// Background reports whether existing resources are to be evaluated.
	Background() bool
	// Reported reports whether its results are to be in reports: they are unless it has [DisabledLabel].
	Reported() bool
	// Admission says for which admission requests it is evaluated.
	Admission() Admission
	// Entries are the entries of the context cache that it reads.
	Entries() []Entry
	// ReadsNamespace reports whether it reads more of a subject's namespace than the labels.
	ReadsNamespace() bool
	// ReadsStatus reports whether it may read the status of a subject. If not, subjects come without it.
	ReadsStatus() bool
	// Targets are all resources that the policy can match, including those of generated rules.
	Targets() []Target
	// Problem says why the policy can't be evaluated; nil if it can.
	Problem() error
	// Doubt says what may be wrong with a policy that is evaluated nevertheless, such as an
	// [*UnknownFieldsError]; nil if nothing is.
	Doubt() error
	// LeftOut are the rules that are never evaluated, each with the reason.
	LeftOut() []string
	// Evaluate returns the results of all rules that apply to the subject; none if the policy does not match it. A rule
	// that can't be evaluated gives a result with the outcome error. It fails only with the error of ctx.
	Evaluate(ctx context.Context, subject Subject) ([]Result, error)
	// Review evaluates an admission request. A rule that can't be evaluated, or not in time, gives a verdict
	// with the outcome error, which denies if the policy is closed. For a deletion, only policies that match
	// deletions give verdicts. It fails only with the error of ctx.
	Review(ctx context.Context, request *Request) ([]Verdict, error)
}

// UnknownFieldsError says that a policy has fields that its engine does not know: fields of a newer version, or
// misspelt ones.
type UnknownFieldsError struct {
	// Paths begin with spec.
	Paths  []string
	Engine string
}

// Error implements error.
func (e *UnknownFieldsError) Error() string {
	return strings.Join(e.Paths, ", ") + ": the engine (" + e.Engine + ") does not know these fields and evaluates the policy without them"
}

// Subject is a resource under evaluation. An evaluation must not change it.
type Subject struct {
	Object   *unstructured.Unstructured
	Resource schema.GroupVersionResource
	// NamespaceLabels are the labels of the namespace of Object or, if Object is a namespace, its own.
	NamespaceLabels map[string]string
	// NamespaceObject is the namespace of Object; nil if it has none. It may also be nil for a policy that does
	// not read it, or if only the labels are known.
	NamespaceObject *corev1.Namespace
}

// Result is the outcome of one rule for one subject.
type Result struct {
	// Rule is the name of the rule; it begins with "autogen-" for rules that were generated for workloads. CEL
	// policies have one result without a rule, unless an exception applies or they can't be evaluated.
	Rule    string
	Outcome report.Outcome
	Message string
	// Properties are shared, and must not be changed.
	Properties map[string]string
}

// Presentation is what results say in addition to their outcome. It comes from annotations of the policy; when it
// changes, reports are written, but nothing is evaluated.
type Presentation struct {
	// Source is the engine, such as kyverno.
	Source   string
	Category string
	Severity report.Severity
	// Scored is false if failures are to be shown as warnings.
	Scored bool
	// Process is the property "process", which Kyverno adds to each result.
	Process string
}

// The annotations of any policy that say what reports show.
const (
	CategoryAnnotation = "policies.kyverno.io/category"
	SeverityAnnotation = "policies.kyverno.io/severity"
	ScoredAnnotation   = "policies.kyverno.io/scored"
)

// SeverityNamed returns the severity that an annotation names; empty for any other word.
func SeverityNamed(word string) report.Severity {
	if severity := report.Severity(word); slices.Contains(report.Severities(), severity) {
		return severity
	}
	return ""
}

// Reference identifies a subject in a report.
type Reference struct {
	APIVersion, Kind, Namespace, Name string
	// UID is empty for resources that come from files.
	UID types.UID
}

// ReferenceTo returns the reference to an object.
func ReferenceTo(object *unstructured.Unstructured) Reference {
	return Reference{
		APIVersion: object.GetAPIVersion(), Kind: object.GetKind(),
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
	}
}
