// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/mutation"
)

// engine is part of fingerprints: another version may give other results.
const engine = "k8s.io/apiserver v0.36.3"

// Config is what a [Compiler] works with. The zero Config is for evaluation from files.
type Config struct {
	// Entries has the parameters of policies; without it, policies with parameters give errors.
	Entries policy.Entries
	// Mapper knows the resources and scopes of kinds; without it, they are guessed.
	Mapper meta.RESTMapper
	// Schemas are those by which resources are mutated; without it, those of Kubernetes' own kinds.
	Schemas *mutation.Schemas
}

// Compiler makes policies of ValidatingAdmissionPolicies and MutatingAdmissionPolicies. It is safe for concurrent use.
type Compiler struct {
	config     Config
	interfaces admission.ObjectInterfaces
}

var _ policy.Compiler = (*Compiler)(nil)

// NewCompiler returns a compiler.
func NewCompiler(config Config) *Compiler {
	if config.Schemas == nil {
		config.Schemas = mutation.NewSchemas(nil)
	}
	return &Compiler{config: config, interfaces: admission.NewObjectInterfacesFromScheme(runtime.NewScheme())}
}

// Compile returns the policy that object describes, with those of others that are bindings of it.
func (c *Compiler) Compile(object *unstructured.Unstructured, others []*unstructured.Unstructured) policy.Policy {
	bindings := bindingsOf(object, others)
	p := describe(object, bindings)
	p.compiler, p.Facts.Background = c, len(bindings) > 0 // Without a binding it is not in effect.
	if object.GetKind() == policy.MutatingAdmissionPolicy {
		p.Facts.Problem = p.compileMutating(object, bindings)
	} else {
		p.Facts.Problem = p.compileValidating(object, bindings)
	}
	if p.definition == nil {
		p.Facts.Targets = rawTargets(object)
		return p
	}
	p.Facts.Targets = targets(p.definition.GetMatchConstraints())
	p.Facts.LeftOut = leftOut(p.definition.GetMatchConstraints(), p.deciding)
	if len(bindings) == 0 {
		p.Facts.LeftOut = append(p.Facts.LeftOut, "no "+object.GetKind()+"Binding names it, so that it is not in effect")
	}
	p.Facts.ReadsStatus = policy.MayReadStatus(object)
	p.Facts.Background = p.Facts.Background && len(p.Facts.LeftOut) == 0
	p.Facts.ReadsNamespace = readsNamespace(append(p.deciding, p.telling...))
	if kind := p.definition.GetParamKind(); kind != nil && p.Facts.Problem == nil {
		p.Facts.Entries = parameterEntries(kind, p.bindings)
	}
	return p
}

// compileValidating reads and compiles a ValidatingAdmissionPolicy.
func (p *admissionPolicy) compileValidating(object *unstructured.Unstructured, bindings []*unstructured.Unstructured) error {
	p.bindingProperty = "binding"
	definition := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	if err := decode(object, definition); err != nil {
		return err
	}
	setDefaults(definition.Spec.MatchConstraints)
	p.definition = validating.NewValidatingAdmissionPolicyAccessor(definition)
	p.deciding, p.telling = expressions(&definition.Spec), messages(&definition.Spec)
	for _, binding := range bindings {
		decoded := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
		if err := decode(binding, decoded); err != nil {
			return fmt.Errorf("binding %s: %w", binding.GetName(), err)
		}
		setDefaults(decoded.Spec.MatchResources)
		if actions := decoded.Spec.ValidationActions; len(actions) > 0 && !slices.Contains(actions, admissionregistrationv1.Deny) {
			p.auditing = append(p.auditing, binding.GetName())
		}
		p.bindings = append(p.bindings, validating.NewValidatingAdmissionPolicyBindingAccessor(decoded))
	}
	validator, err := compile(definition)
	p.program = &validation{validator: validator, interfaces: p.compiler.interfaces}
	return err
}

// bindingsOf returns the bindings of a policy, by name.
func bindingsOf(object *unstructured.Unstructured, others []*unstructured.Unstructured) []*unstructured.Unstructured {
	kind := policy.ValidatingAdmissionPolicyBinding
	if object.GetKind() == policy.MutatingAdmissionPolicy {
		kind = policy.MutatingAdmissionPolicyBinding
	}
	var bindings []*unstructured.Unstructured
	for _, other := range others {
		if other.GetKind() != kind {
			continue
		}
		if bound, _, err := unstructured.NestedString(other.Object, "spec", "policyName"); err == nil && bound == object.GetName() {
			bindings = append(bindings, other)
		}
	}
	slices.SortFunc(bindings, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return bindings
}

// managedBy says who made an object.
const managedBy = "app.kubernetes.io/managed-by"

// describe reads what needs no decoding.
func describe(object *unstructured.Unstructured, bindings []*unstructured.Unstructured) *admissionPolicy {
	annotations, labels := object.GetAnnotations(), object.GetLabels()
	_, disabled := labels[policy.DisabledLabel]
	identity := policy.Identity{Kind: object.GetKind(), Name: object.GetName()}
	return &admissionPolicy{Described: policy.Described{Facts: policy.Facts{
		Identity: identity,
		Presentation: policy.Presentation{
			// Kyverno's reports name the kind as well.
			Source: object.GetKind(), Category: annotations[policy.CategoryAnnotation],
			Severity: policy.SeverityNamed(strings.ToLower(annotations[policy.SeverityAnnotation])),
			Scored:   annotations[policy.ScoredAnnotation] != "false", Process: "background scan",
		},
		Fingerprint: fingerprint(identity, object, bindings),
		// A policy that Kyverno generates has the same results as its original.
		Unreported: disabled || labels[managedBy] == "kyverno",
	}}}
}

// fingerprint hashes all that decides about results.
func fingerprint(identity policy.Identity, object *unstructured.Unstructured, bindings []*unstructured.Unstructured) string {
	content := []any{engine, identity.String(), object.Object["spec"]}
	for _, binding := range bindings {
		content = append(content, binding.GetName(), binding.Object["spec"])
	}
	return policy.Fingerprint(content)
}

// decode is strict about types, whose errors name the field, and lenient about fields, as the API server is about what
// is stored.
func decode(object *unstructured.Unstructured, into any) error {
	data, err := json.Marshal(object.Object)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// rawTargets are the targets of a policy that can't be read, if its constraints can be.
func rawTargets(object *unstructured.Unstructured) []policy.Target {
	spec, _ := object.Object["spec"].(map[string]any)
	only := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"matchConstraints": spec["matchConstraints"]}}}
	definition := &admissionregistrationv1.ValidatingAdmissionPolicy{}
	if err := decode(only, definition); err != nil {
		return nil
	}
	return targets(definition.Spec.MatchConstraints)
}

// setDefaults does what the API server does for objects that it stores; those from files lack it.
func setDefaults(resources *admissionregistrationv1.MatchResources) {
	if resources == nil {
		return
	}
	for _, selector := range []**metav1.LabelSelector{&resources.NamespaceSelector, &resources.ObjectSelector} {
		if *selector == nil {
			*selector = &metav1.LabelSelector{}
		}
	}
}

// targets are the resources of all rules for the operation CREATE.
func targets(constraints *admissionregistrationv1.MatchResources) []policy.Target {
	var out []policy.Target
	if constraints == nil {
		return nil
	}
	for i := range constraints.ResourceRules {
		rule := &constraints.ResourceRules[i]
		for _, group := range rule.APIGroups {
			for _, version := range rule.APIVersions {
				for _, resource := range rule.Resources {
					name, subresource, _ := strings.Cut(resource, "/")
					target := policy.Target{Group: group, Version: version, Resource: name, Subresource: subresource}
					if !slices.Contains(out, target) {
						out = append(out, target)
					}
				}
			}
		}
	}
	return out
}

// leftOut says why a policy isn't evaluated for resources that exist; nil if it is.
func leftOut(constraints *admissionregistrationv1.MatchResources, deciding []expression) []string {
	var reasons []string
	if constraints != nil && len(constraints.ResourceRules) > 0 && !slices.ContainsFunc(constraints.ResourceRules, creates) {
		reasons = append(reasons, "spec.matchConstraints: no rule is about CREATE, and resources are evaluated as if they were created")
	}
	for _, e := range deciding {
		switch reads, err := reads(e.text); {
		case err != nil: // The compiler says the same, and better.
		case reads.authorizer:
			reasons = append(reasons, e.path+": authorizer: resources have no user whose rights could be asked for")
		case reads.user:
			reasons = append(reasons, e.path+": request.userInfo: resources have no user who sent them")
		}
	}
	slices.Sort(reasons)
	return reasons
}

func creates(rule admissionregistrationv1.NamedRuleWithOperations) bool {
	return slices.Contains(rule.Operations, admissionregistrationv1.Create) || slices.Contains(rule.Operations, admissionregistrationv1.OperationAll)
}

var errNoConstraints = errors.New("spec.matchConstraints is missing: name the resources that the policy is about")
