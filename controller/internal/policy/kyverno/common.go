// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// engineVersion is part of fingerprints: another engine may give other results.
const engineVersion = "kyverno v1.19.1"

// common is what all policies have, whatever engine evaluates them.
type common struct {
	identity     policy.Identity
	presentation policy.Presentation
	fingerprint  string
	background   bool
	// unreported tells that its owner wants no results in reports.
	unreported bool
	admission  policy.Admission
	entries    []policy.Entry
	// readsNamespace tells that an expression may look at the namespace.
	readsNamespace bool
	readsStatus    bool
	targets        []policy.Target
	problem        error
	doubt          error
	leftOut        []string
	ignored        []policy.IgnoredException
	// constrained reports whether the constraints of a policy, as far as they can be read, have a request; nil if it
	// has none.
	constrained func(*policy.Request) bool
}

// Identity is that of [policy.Policy].
func (c *common) Identity() policy.Identity { return c.identity }

// Presentation is that of [policy.Policy].
func (c *common) Presentation() policy.Presentation { return c.presentation }

// Fingerprint is that of [policy.Policy].
func (c *common) Fingerprint() string { return c.fingerprint }

// Background is that of [policy.Policy].
func (c *common) Background() bool { return c.background }

// Reported is that of [policy.Policy].
func (c *common) Reported() bool { return !c.unreported }

// Targets is that of [policy.Policy].
func (c *common) Targets() []policy.Target { return c.targets }

// Problem is that of [policy.Policy].
func (c *common) Problem() error { return c.problem }

// Doubt is that of [policy.Policy].
func (c *common) Doubt() error { return c.doubt }

// LeftOut is that of [policy.Policy].
func (c *common) LeftOut() []string { return c.leftOut }

// IgnoredExceptions is for [policy.IgnoredExceptions].
func (c *common) IgnoredExceptions() []policy.IgnoredException { return c.ignored }

// Admission is that of [policy.Policy].
func (c *common) Admission() policy.Admission { return c.admission }

// Entries is that of [policy.Policy].
func (c *common) Entries() []policy.Entry { return c.entries }

// ReadsStatus is that of [policy.Policy].
func (c *common) ReadsStatus() bool { return c.readsStatus }

// ReadsNamespace is that of [policy.Policy].
func (c *common) ReadsNamespace() bool { return c.readsNamespace }

func (c *common) evaluable() bool { return c.problem == nil }

// describe reads all that does not need the engine. Policies that can't be decoded have it too.
func describe(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) common {
	annotations := object.GetAnnotations()
	var background, admission bool
	spec, _ := object.Object["spec"].(map[string]any)
	switch object.GetKind() {
	case policy.ValidatingPolicy, policy.NamespacedValidatingPolicy, policy.ImageValidatingPolicy, policy.NamespacedImageValidatingPolicy,
		policy.MutatingPolicy, policy.NamespacedMutatingPolicy:
		background = enabled(spec, "evaluation", "background", "enabled")
		admission = enabled(spec, "evaluation", "admission", "enabled")
	default:
		background, admission = enabled(spec, "background"), enabled(spec, "admission")
	}
	// The value says nothing, in Kyverno neither.
	_, unreported := object.GetLabels()[policy.DisabledLabel]
	identity := policy.Identity{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
	return common{
		identity: identity,
		presentation: policy.Presentation{
			Source:   sourceOf(object.GetKind()),
			Category: annotations[annotationCategory],
			Severity: severityOf(annotations[annotationSeverity]),
			Scored:   annotations[annotationScored] != "false",
			Process:  process(background, admission),
		},
		fingerprint: fingerprint(identity, object, exceptions),
		background:  background,
		unreported:  unreported,
		admission:   rawAdmission(object, admission),
		// The one name that CEL has for it; other expressions don't see namespaces.
		readsNamespace: mentions("namespaceObject", append([]*unstructured.Unstructured{object}, exceptions...)),
		readsStatus:    policy.MayReadStatus(append([]*unstructured.Unstructured{object}, exceptions...)...),
	}
}

// sourceOf is the word that Kyverno's reports have for a kind of policies.
func sourceOf(kind string) string {
	switch kind {
	case policy.ValidatingPolicy, policy.NamespacedValidatingPolicy:
		return sourceValidating
	case policy.ImageValidatingPolicy, policy.NamespacedImageValidatingPolicy:
		return sourceImageValidating
	case policy.MutatingPolicy, policy.NamespacedMutatingPolicy:
		return sourceMutating
	default:
		return sourceClassic
	}
}

// enabled reads a switch that is on unless the policy says false.
func enabled(spec map[string]any, path ...string) bool {
	value, found, err := unstructured.NestedBool(spec, path...)
	return value || !found || err != nil
}

// process is the word that Kyverno has for how a policy is evaluated.
func process(background, admission bool) string {
	switch {
	case background:
		return "background scan"
	case admission:
		return "admission review"
	default:
		return ""
	}
}

// fingerprint hashes all that the engines read. Messages name the exceptions, and the label with
// the priority of an exception decides between several.
func fingerprint(identity policy.Identity, object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) string {
	type exception struct {
		Namespace, Name, Priority string
		Spec                      any
	}
	content := struct {
		Engine     string
		Identity   policy.Identity
		Group      string
		Autogen    *string
		Spec       any
		Exceptions []exception
	}{Engine: engineVersion, Identity: identity, Group: object.GroupVersionKind().Group, Spec: object.Object["spec"]}
	if autogen, ok := object.GetAnnotations()[annotationAutogen]; ok {
		content.Autogen = &autogen
	}
	for _, e := range exceptions {
		content.Exceptions = append(content.Exceptions, exception{
			e.GetNamespace(), e.GetName(), e.GetLabels()[labelExceptionPriority], e.Object["spec"],
		})
	}
	// What was read as JSON or YAML can be written as JSON. Should it not be, the text of the
	// values serves: it differs where they do.
	data, err := json.Marshal(content)
	if err != nil {
		data = fmt.Appendf(nil, "%v", content)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// broken returns a policy that can't be evaluated. It gives one result for each subject that
// targets name.
func (c *common) broken(targets []policy.Target, problem error) policy.Policy {
	out := &brokenPolicy{common: *c}
	out.targets, out.problem = targets, problem
	out.admission.Enabled = out.admission.Enabled && len(out.admission.Targets) > 0
	return out
}

// brokenPolicy is a policy of which no engine can make sense.
type brokenPolicy struct{ common }

// Evaluate is that of [policy.Policy].
func (p *brokenPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !p.inScope(subject) || !matchesAny(p.targets, subject) {
		return nil, nil
	}
	return []policy.Result{errorResult("", p.problem)}, nil
}

// inScope reports whether there is an object that the policy's namespace has, if the policy is in one.
func (c *common) inScope(subject policy.Subject) bool {
	if subject.Object == nil || subject.Object.Object == nil {
		return false
	}
	return c.identity.Namespace == "" || subject.Object.GetNamespace() == c.identity.Namespace
}

func matchesAny(targets []policy.Target, subject policy.Subject) bool {
	kind := subject.Object.GroupVersionKind()
	for _, target := range targets {
		if target.Matches(kind, subject.Resource.Resource) {
			return true
		}
	}
	return false
}

func errorResult(rule string, cause error) policy.Result {
	return policy.Result{Rule: rule, Outcome: report.OutcomeError, Message: cause.Error()}
}

// decode reads an object as one of Kyverno's types. Unknown fields are dropped, as the API server
// would; a wrong type is an error that names the field.
func decode(object *unstructured.Unstructured, into any) error {
	// The status is the business of Kyverno's controllers; nothing in it may decide a result.
	content := maps.Clone(object.Object)
	delete(content, "status")
	data, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("cannot read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("cannot read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// reaches reports whether a policy in CEL can be about a subject, whose resource it fills in if that is not known.
func (c *common) reaches(subject *policy.Subject, mapper meta.RESTMapper) bool {
	if !c.inScope(*subject) {
		return false
	}
	if subject.Resource.Resource == "" {
		subject.Resource = policy.ResourceOf(mapper, subject.Object.GroupVersionKind())
	}
	return matchesAny(c.targets, *subject)
}
