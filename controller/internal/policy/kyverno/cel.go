// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	policieskyvernoio "github.com/kyverno/api/api/policies.kyverno.io"
	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	celengine "github.com/kyverno/kyverno/pkg/cel/engine"
	"github.com/kyverno/kyverno/pkg/cel/libs"
	"github.com/kyverno/kyverno/pkg/cel/matching"
	vpolcompiler "github.com/kyverno/kyverno/pkg/cel/policies/vpol/compiler"
	vpolengine "github.com/kyverno/kyverno/pkg/cel/policies/vpol/engine"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/controller/internal/policy"
)

// celPolicy is a ValidatingPolicy or a NamespacedValidatingPolicy.
type celPolicy struct {
	common
	compiler *Compiler
	limits   limits
	// compiled has the policy and those that Kyverno generates of it for workloads.
	compiled vpolengine.ProviderFunc
	// readsRequest reports whether an expression may look at the request.
	readsRequest bool
}

func (c *Compiler) compileCEL(object *unstructured.Unstructured, all []*unstructured.Unstructured) policy.Policy {
	referring, ignored := c.counting(object, celExceptions(object, all))
	described := describe(object, referring)
	described.ignored = ignored
	described.doubt = unknownFieldsError(unknownFields(object))
	decoded, err := decodeCEL(object)
	if err != nil {
		described.constraints = rawConstraints(object)
		described.admission.Targets = requestedConstraints(described.constraints)
		return described.broken(unique(constraintTargets(described.constraints)), err)
	}
	spec := decoded.GetValidatingPolicySpec()
	described.constraints, described.admission = spec.MatchConstraints, celAdmission(spec)
	if spec.EvaluationMode() == policieskyvernoio.EvaluationModeJSON {
		// It is about JSON documents that are no resources: nothing matches, which is no problem.
		described.background, described.admission = false, policy.Admission{}
		return &celPolicy{common: described, compiler: c, compiled: noPolicies}
	}
	targets := unique(constraintTargets(spec.MatchConstraints))
	if err := checkCEL(spec); err != nil {
		return described.broken(targets, err)
	}
	if described.identity.Namespace != "" {
		if name := unboundedOf(object); name != "" {
			return described.broken(targets, unboundedError(name))
		}
	}
	exceptions, err := decodeCELExceptions(referring)
	if err != nil {
		return described.broken(targets, err)
	}
	var compiled vpolengine.ProviderFunc
	err = protect(func() error {
		compiled, err = c.compilePrograms(decoded, exceptions)
		return err
	})
	if err != nil {
		return described.broken(targets, err)
	}
	out := &celPolicy{
		common: described, compiler: c, limits: limits{timeout: c.timeout, runners: &c.runners}, compiled: compiled,
		readsRequest: mentions("request", append(referring, object)),
	}
	if out.identity.Namespace == "" {
		out.entries = globalEntries(append(referring, object))
	}
	policies, err := compiled(context.Background())
	if err != nil {
		return described.broken(targets, err)
	}
	out.targets = compiledTargets(policies)
	widen(&out.admission, policies)
	return out
}

// library is what the policy can ask.
func (p *celPolicy) library() libs.Context { return p.compiler.library.of(p.identity.Namespace) }

func noPolicies(context.Context) ([]vpolengine.Policy, error) { return nil, nil }

// decodeCEL reads any version of a CEL policy: they have one schema.
func decodeCEL(object *unstructured.Unstructured) (policiesv1beta1.ValidatingPolicyLike, error) {
	if object.GetKind() == policy.NamespacedValidatingPolicy {
		decoded := &policiesv1beta1.NamespacedValidatingPolicy{}
		return decoded, decode(object, decoded)
	}
	decoded := &policiesv1beta1.ValidatingPolicy{}
	return decoded, decode(object, decoded)
}

func checkCEL(spec *policiesv1beta1.ValidatingPolicySpec) error {
	if spec.MatchConstraints == nil || len(spec.MatchConstraints.ResourceRules) == 0 {
		return errNoRules
	}
	if len(spec.Validations) == 0 && len(spec.AuditAnnotations) == 0 {
		return errNoValidations
	}
	return nil
}

var (
	errNoRules       = errors.New("spec.matchConstraints.resourceRules is empty: name the resources that the policy is about")
	errNoValidations = errors.New("spec.validations is empty: give the policy a validation")
)

// libraryLock is held while a policy is compiled: Kyverno's compiler takes the library context from
// a variable of its package, and binds it to the programs.
var libraryLock sync.Mutex

func (c *Compiler) compilePrograms(
	decoded policiesv1beta1.ValidatingPolicyLike, exceptions []*policiesv1beta1.PolicyException,
) (vpolengine.ProviderFunc, error) {
	var compiled vpolengine.ProviderFunc
	err := c.withLibrary(decoded.GetNamespace(), func() error {
		var err error
		compiled, err = vpolengine.NewProvider(vpolcompiler.NewCompiler(), []policiesv1beta1.ValidatingPolicyLike{decoded}, exceptions)
		return err
	})
	return compiled, err
}

// withLibrary has the programs that are compiled ask the library, as policies in a namespace may; empty
// for cluster policies.
func (c *Compiler) withLibrary(namespace string, compile func() error) error {
	libraryLock.Lock()
	defer libraryLock.Unlock()
	before := libs.LibraryContext
	library := c.library.of(namespace)
	libs.LibraryContext = library
	defer func() { libs.LibraryContext = before }()
	return withHTTP(&celServices{services: c.services, scope: library.scope}, compile)
}

func compiledTargets(policies []vpolengine.Policy) []policy.Target {
	var targets []policy.Target
	for _, one := range policies {
		targets = append(targets, constraintTargets(one.CompiledPolicy.MatchConstraints())...)
	}
	return unique(targets)
}

// rawConstraints returns the match constraints of a policy that can't be decoded, if they can be.
func rawConstraints(object *unstructured.Unstructured) *admissionregistrationv1.MatchResources {
	constraints, _, err := unstructured.NestedMap(object.Object, "spec", "matchConstraints")
	if err != nil {
		return nil
	}
	only := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"matchConstraints": constraints}}}
	decoded := &policiesv1beta1.ValidatingPolicy{}
	if err := decode(only, decoded); err != nil || len(constraints) == 0 {
		return nil
	}
	return decoded.Spec.MatchConstraints
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

// Evaluate is that of [policy.Policy].
func (p *celPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !p.reaches(&subject, p.compiler.mapper) {
		return nil, nil
	}
	return p.limits.run(ctx, &celEvaluation{policy: p, subject: subject})
}

// celEvaluation is the evaluation of one subject, in one step.
type celEvaluation struct {
	policy  *celPolicy
	subject policy.Subject
}

func (e *celEvaluation) steps() int { return 1 }

func (e *celEvaluation) step(ctx context.Context, _ int) ([]policy.Result, error) {
	object := e.subject.Object
	namespace := e.subject.Namespace()
	engine := vpolengine.NewEngine(e.policy.compiled, func(string) *corev1.Namespace { return namespace }, matching.NewMatcher())
	var shown runtime.Object = object
	if !e.policy.readsRequest {
		shown = unwritten{object}
	}
	request := celengine.Request(
		e.policy.library(), object.GroupVersionKind(), e.subject.Resource, "", object.GetName(), object.GetNamespace(),
		admissionv1.Create, authenticationv1.UserInfo{}, shown, nil, false, nil,
	)
	return handle(ctx, engine, request)
}

func handle(ctx context.Context, engine vpolengine.Engine, request vpolengine.EngineRequest) ([]policy.Result, error) {
	ctx, used := metered(ctx)
	response, err := engine.Handle(ctx, request, nil)
	if err == nil {
		err = used.spent
	}
	if err != nil {
		return nil, fmt.Errorf("cannot evaluate the policy: %w", err)
	}
	var results []policy.Result
	for _, one := range response.Policies {
		for i := range one.Rules {
			rule := &one.Rules[i]
			// The policy is not about the subject.
			if rule.Status() == engineapi.RuleStatusSkip && rule.SkipReason() == engineapi.SkipReasonMatchConditions {
				continue
			}
			results = append(results, toResult(rule))
		}
	}
	return results, nil
}

func (e *celEvaluation) fail(_ int, cause error) []policy.Result {
	return []policy.Result{errorResult("", cause)}
}

func (e *celEvaluation) forget() {}

// unwritten is an object that is null as JSON. The engine writes the whole request as JSON and
// reads it again, for the variable "request"; that is more than half of the work. The variable
// "object" does not come from there.
type unwritten struct{ *unstructured.Unstructured }

// MarshalJSON is that of JSON's marshalers.
func (unwritten) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// mentions reports whether the word occurs in the specs of the objects. CEL has no way to make a
// name of parts, so that a policy without the word does not use the variable.
func mentions(word string, objects []*unstructured.Unstructured) bool {
	for _, object := range objects {
		data, err := json.Marshal(object.Object["spec"])
		if err != nil || bytes.Contains(data, []byte(word)) {
			return true
		}
	}
	return false
}
