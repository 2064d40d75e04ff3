// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// kyvernoModule is the module of both engines.
const kyvernoModule = "github.com/kyverno/kyverno"

// EngineVersion returns "kyverno" and its version in this program; tests of Go have no version. It is part of
// fingerprints: another engine may give other results.
var EngineVersion = sync.OnceValue(func() string {
	build, _ := debug.ReadBuildInfo()
	return versionIn(build)
})

// versionIn returns the version of Kyverno that a program was built with.
func versionIn(build *debug.BuildInfo) string {
	if build != nil {
		for _, module := range build.Deps {
			if module.Path != kyvernoModule {
				continue
			}
			if module.Replace != nil {
				module = module.Replace
			}
			return "kyverno " + module.Version
		}
	}
	return "kyverno" // A test of Go: it has no list of modules.
}

// Common is the part of a policy that does not depend on its engine.
type Common struct{ policy.Described }

// Evaluable reports whether the policy has no problem.
func (c *Common) Evaluable() bool { return c.Facts.Problem == nil }

// Describe reads all that does not need the engine. Policies that can't be decoded have it too.
func Describe(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) Common {
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
	return Common{policy.Described{Facts: policy.Facts{
		Identity: identity,
		Presentation: policy.Presentation{
			Source:   sourceOf(object.GetKind()),
			Category: annotations[policy.CategoryAnnotation],
			Severity: policy.SeverityNamed(annotations[policy.SeverityAnnotation]),
			Scored:   annotations[policy.ScoredAnnotation] != "false",
			Process:  process(background, admission),
		},
		Fingerprint: fingerprint(identity, object, exceptions),
		Background:  background,
		Unreported:  unreported,
		Admission:   rawAdmission(object, admission),
		// The one name that CEL has for it; other expressions don't see namespaces.
		ReadsNamespace: Mentions("namespaceObject", append([]*unstructured.Unstructured{object}, exceptions...)),
		ReadsStatus:    policy.MayReadStatus(append([]*unstructured.Unstructured{object}, exceptions...)...),
	}}}
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

// process is the word that Kyverno uses for the way in which it evaluates a policy.
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
	}{Engine: EngineVersion(), Identity: identity, Group: object.GroupVersionKind().Group, Spec: object.Object["spec"]}
	if autogen, ok := object.GetAnnotations()[annotationAutogen]; ok {
		content.Autogen = &autogen
	}
	for _, e := range exceptions {
		content.Exceptions = append(content.Exceptions, exception{
			e.GetNamespace(), e.GetName(), e.GetLabels()[labelExceptionPriority], e.Object["spec"],
		})
	}
	return policy.Fingerprint(content)
}

// Broken returns a policy that can't be evaluated. It gives one result for each subject that targets name.
func (c *Common) Broken(targets []policy.Target, problem error) policy.Policy {
	out := &brokenPolicy{Common: *c}
	out.Facts.Targets, out.Facts.Problem = targets, problem
	out.Facts.Entries = nil // It reads nothing.
	out.Facts.Admission.Enabled = out.Facts.Admission.Enabled && len(out.Facts.Admission.Targets) > 0
	return out
}

// brokenPolicy is a policy of which no engine can make sense.
type brokenPolicy struct{ Common }

func (p *brokenPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !p.InScope(subject) || !matchesAny(p.Facts.Targets, subject) {
		return nil, nil
	}
	return []policy.Result{ErrorResult("", p.Facts.Problem)}, nil
}

// InScope reports whether there is an object that the policy's namespace has, if the policy is in one.
func (c *Common) InScope(subject policy.Subject) bool {
	if subject.Object == nil || subject.Object.Object == nil {
		return false
	}
	return c.Facts.Identity.Namespace == "" || subject.Object.GetNamespace() == c.Facts.Identity.Namespace
}

func matchesAny(targets []policy.Target, subject policy.Subject) bool {
	kind := subject.Object.GroupVersionKind()
	return slices.ContainsFunc(targets, func(target policy.Target) bool { return target.Matches(kind, subject.Resource.Resource) })
}

// ErrorResult returns the outcome error of a rule, with the cause as its message.
func ErrorResult(rule string, cause error) policy.Result {
	return policy.Result{Rule: rule, Outcome: report.OutcomeError, Message: cause.Error()}
}

// Decode reads an object as one of Kyverno's types. Unknown fields are dropped, as the API server
// would; a wrong type is an error that names the field.
func Decode(object *unstructured.Unstructured, into any) error {
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

// Reaches reports whether a policy in CEL can be about a subject, whose resource it fills in if that is not known.
func (c *Common) Reaches(subject *policy.Subject, mapper meta.RESTMapper) bool {
	if !c.InScope(*subject) {
		return false
	}
	if subject.Resource.Resource == "" {
		subject.Resource = policy.ResourceOf(mapper, subject.Object.GroupVersionKind())
	}
	return matchesAny(c.Facts.Targets, *subject)
}
