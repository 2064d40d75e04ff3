// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/api/report"
)

// Compiler makes policies of the objects that users write.
type Compiler interface {
	// Compile returns the policy that object describes, with those of exceptions that refer to
	// it. It never fails: a policy that can't be evaluated has a [Policy.Problem] and gives
	// error results for all that its targets name. Exceptions that have expired ([ExpiryOf]) don't
	// count: compile again when one does.
	Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) Policy
}

// Policy is a compiled policy. It never changes and is safe for concurrent use.
type Policy interface {
	// Identity names the policy.
	Identity() Identity
	// Presentation is what its results say beside their outcome.
	Presentation() Presentation
	// Fingerprint is the same for two policies only if they give equal results for every
	// subject. Labels, annotations that no engine reads, and status don't change it.
	Fingerprint() string
	// Background reports whether existing resources are to be evaluated.
	Background() bool
	// Reported reports whether reports are to have its results: unless it has [DisabledLabel].
	Reported() bool
	// Admission says what it wants of admission requests.
	Admission() Admission
	// Entries are what it reads from the context cache.
	Entries() []Entry
	// ReadsNamespace reports whether it looks at more of a subject's namespace than its labels.
	ReadsNamespace() bool
	// Targets name all resources that the policy can match, those of generated rules included.
	Targets() []Target
	// Problem says why the policy can't be evaluated; nil if it can.
	Problem() error
	// Doubt says what a user should know of a policy that is evaluated nevertheless, such as an
	// [*UnknownFieldsError]; nil if there is nothing.
	Doubt() error
	// LeftOut are the rules that are never evaluated, each with the reason.
	LeftOut() []string
	// Evaluate returns the results of all rules that apply to the subject; none if the policy
	// does not match it. A rule that can't be evaluated gives a result with the outcome error.
	// The error is that of ctx and no other.
	Evaluate(ctx context.Context, subject Subject) ([]Result, error)
	// Review is Evaluate for an admission request. A rule that can't be evaluated, also for lack of
	// time, gives a verdict with the outcome error, which denies if the policy is closed. A deletion
	// gives verdicts only for policies that match deletions.
	Review(ctx context.Context, request *Request) ([]Verdict, error)
}

// UnknownFieldsError is the doubt about a policy with fields that its engine does not know: those of
// a newer version, or misspelt ones.
type UnknownFieldsError struct {
	// Paths begin with spec.
	Paths  []string
	Engine string
}

// Error implements error.
func (e *UnknownFieldsError) Error() string {
	return strings.Join(e.Paths, ", ") + ": the engine (" + e.Engine + ") does not know these fields and evaluates the policy without them"
}

// Subject is a resource under evaluation. Nothing in it is changed by an evaluation.
type Subject struct {
	Object   *unstructured.Unstructured
	Resource schema.GroupVersionResource
	// NamespaceLabels are those of the namespace of Object, or, if Object is a namespace, its own.
	NamespaceLabels map[string]string
	// NamespaceObject is the namespace of Object; nil if it has none. It may be nil, too, for a
	// policy that does not read it, and where only the labels are known.
	NamespaceObject *corev1.Namespace
}

// Result is the outcome of one rule for one subject.
type Result struct {
	// Rule is its name; rules that were generated for workloads begin with "autogen-". CEL
	// policies have one result and no rule, unless an exception applies or they can't be evaluated.
	Rule    string
	Outcome report.Outcome
	Message string
	// Properties are shared and never changed.
	Properties map[string]string
}

// Presentation is what results say beside their outcome. It comes from annotations: a change
// rewrites reports but evaluates nothing.
type Presentation struct {
	// Source is the engine, such as kyverno.
	Source   string
	Category string
	Severity report.Severity
	// Scored is false if failures are to be shown as warnings.
	Scored bool
	// Process is the property "process" that Kyverno gives each result.
	Process string
}

// Reference is what a report says about a subject.
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
