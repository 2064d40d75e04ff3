// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
)

// celPolicy is a ValidatingPolicy or a NamespacedValidatingPolicy.
type celPolicy struct {
	*common
	// compiled has the policy and those that Kyverno generates of it for workloads.
	compiled vpolengine.ProviderFunc
	// readsRequest reports whether an expression may look at the request.
	readsRequest bool
}

func (c *Compiler) compileCEL(object *unstructured.Unstructured, all []*unstructured.Unstructured) policy.Policy {
	described, referring := c.describe(object, all)
	decoded, err := decode[policiesv1beta1.ValidatingPolicyLike](object, &policiesv1beta1.ValidatingPolicy{}, &policiesv1beta1.NamespacedValidatingPolicy{})
	if err != nil {
		constraints := rawConstraints(object)
		described.Facts.Constrained, described.Facts.Admission.Targets = constrainedBy(constraints), requestedConstraints(constraints)
		return described.Broken(base.Unique(constraintTargets(constraints)), err)
	}
	spec := decoded.GetValidatingPolicySpec()
	described.Facts.Constrained, described.Facts.Admission = constrainedBy(spec.MatchConstraints), celAdmission(spec)
	if spec.EvaluationMode() == policieskyvernoio.EvaluationModeJSON {
		// It is about JSON documents that are no resources: nothing matches, which is no problem.
		described.Facts.Background, described.Facts.Admission = false, policy.Admission{}
		return &celPolicy{common: described, compiled: noPolicies}
	}
	targets := base.Unique(constraintTargets(spec.MatchConstraints))
	exceptions, err := described.ready(object, referring, incomplete(spec.MatchConstraints, len(spec.Validations)+len(spec.AuditAnnotations), errNoValidations))
	if err != nil {
		return described.Broken(targets, err)
	}
	var compiled vpolengine.ProviderFunc
	err = base.Protect(func() error {
		compiled, err = c.compilePrograms(decoded, exceptions)
		return err
	})
	if err != nil {
		return described.Broken(targets, err)
	}
	out := &celPolicy{
		common: described, compiled: compiled,
		readsRequest: base.Mentions("request", append(referring, object)),
	}
	policies, err := compiled(context.Background())
	if err != nil {
		return described.Broken(targets, err)
	}
	out.Facts.Targets = compiledTargets(policies)
	widen(&out.Facts.Admission, policies)
	return out
}

// library is what the policy can ask.
func (p *celPolicy) library() libs.Context { return p.compiler.library.of(p.Facts.Identity.Namespace) }

func noPolicies(context.Context) ([]vpolengine.Policy, error) { return nil, nil }

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

// withLibrary binds the library of a namespace, empty for cluster policies, to the programs that compile compiles.
func (c *Compiler) withLibrary(namespace string, compile func() error) error {
	libraryLock.Lock()
	defer libraryLock.Unlock()
	before := libs.LibraryContext
	library := c.library.of(namespace)
	libs.LibraryContext = library
	defer func() { libs.LibraryContext = before }()
	return withHTTP(&celServices{services: c.Services, scope: library.scope, evaluation: context.Background()}, compile)
}

func compiledTargets(policies []vpolengine.Policy) []policy.Target {
	var targets []policy.Target
	for _, one := range policies {
		targets = append(targets, constraintTargets(one.CompiledPolicy.MatchConstraints())...)
	}
	return base.Unique(targets)
}

// rawConstraints returns the match constraints of a policy that can't be decoded, if they can be.
func rawConstraints(object *unstructured.Unstructured) *admissionregistrationv1.MatchResources {
	constraints, _, err := unstructured.NestedMap(object.Object, "spec", "matchConstraints")
	if err != nil {
		return nil
	}
	only := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"matchConstraints": constraints}}}
	decoded := &policiesv1beta1.ValidatingPolicy{}
	if err := base.Decode(only, decoded); err != nil || len(constraints) == 0 {
		return nil
	}
	return decoded.Spec.MatchConstraints
}

func (p *celPolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	return p.run(ctx, subject, p.evaluate)
}

func (p *celPolicy) evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	object, namespace := subject.Object, subject.Namespace()
	engine := vpolengine.NewEngine(p.compiled, func(string) *corev1.Namespace { return namespace }, matching.NewMatcher())
	var shown runtime.Object = object
	if !p.readsRequest {
		shown = unwritten{object}
	}
	request := celengine.Request(
		p.library(), object.GroupVersionKind(), subject.Resource, "", object.GetName(), object.GetNamespace(),
		admissionv1.Create, authenticationv1.UserInfo{}, shown, nil, false, nil,
	)
	return handle(ctx, engine, request)
}

func handle(ctx context.Context, engine vpolengine.Engine, request vpolengine.EngineRequest) ([]policy.Result, error) {
	ctx, used := meter.With(ctx)
	response, err := engine.Handle(ctx, request, nil)
	if err == nil {
		err = used.Spent
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
			results = append(results, base.ResultOf(rule, nil))
		}
	}
	return results, nil
}

// unwritten is an object that is null as JSON. The engine writes the whole request as JSON and reads it again, for the
// variable "request"; that is more than half of the work. The variable "object" does not come from there.
type unwritten struct{ *unstructured.Unstructured }

func (unwritten) MarshalJSON() ([]byte, error) { return []byte("null"), nil }
