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
	ivpolengine "github.com/kyverno/kyverno/pkg/cel/policies/ivpol/engine"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/controller/internal/policy/registry"
)

// imagePolicy is an ImageValidatingPolicy or a NamespacedImageValidatingPolicy.
type imagePolicy struct {
	*common
	// credentials name those that it asks registries with.
	credentials string
	// variants are the policy and those that Kyverno generates of it for workloads.
	variants []*imageVariant
}

// imageVariant is a policy that is compiled for each resource: the extractors of images differ.
type imageVariant struct {
	ivpolengine.Policy
	// idle has, by the resource, a *sync.Pool of *imageProgram. Kyverno compiles a policy for each
	// evaluation, which takes longer than the rest once the registry's answers are known.
	idle sync.Map
}

func (c *Compiler) compileImages(object *unstructured.Unstructured, all []*unstructured.Unstructured) policy.Policy {
	described, referring := c.describe(object, all)
	described.Facts.Admission = policy.Admission{Enforces: described.Facts.Admission.Enforces} // The answer to a request must not wait for registries.
	if c.Registries == nil {
		described.Facts.Background, described.Facts.LeftOut = false, []string{base.ErrNoImages.Error()}
		return &imagePolicy{common: described}
	}
	constraints := rawConstraints(object)
	targets := base.Unique(constraintTargets(constraints))
	decoded, err := decode[policiesv1beta1.ImageValidatingPolicyLike](object, &policiesv1beta1.ImageValidatingPolicy{}, &policiesv1beta1.NamespacedImageValidatingPolicy{})
	if err != nil {
		return described.Broken(targets, err)
	}
	spec := decoded.GetSpec()
	if spec.EvaluationMode() == policieskyvernoio.EvaluationModeJSON {
		described.Facts.Background = false // As for validating policies.
		return &imagePolicy{common: described}
	}
	described.Facts.Constrained = constrainedBy(spec.MatchConstraints)
	exceptions, err := described.ready(object, referring, incomplete(spec.MatchConstraints, len(spec.Validations), errNoValidations))
	if err == nil && object.GetNamespace() != "" {
		err = c.confined(object, spec.Credentials)
	}
	if err != nil {
		return described.Broken(targets, err)
	}
	out := &imagePolicy{common: described, credentials: credentialsOf(object.GetNamespace(), spec.Credentials)}
	if err := base.Protect(func() error { return out.generate(decoded, exceptions) }); err != nil {
		return described.Broken(targets, err)
	}
	return out
}

// confined refuses what a policy of a namespace may not use.
func (c *Compiler) confined(object *unstructured.Unstructured, credentials *policiesv1beta1.Credentials) error {
	if credentials != nil {
		if err := c.Registries.CheckCredentials(reach.Scope{Namespace: object.GetNamespace()}, credentials.AllowInsecureRegistry, len(credentials.Providers)); err != nil {
			return err
		}
	}
	return base.ConfinedKeys(object.Object["spec"])
}

// credentialsOf tells the credentials of policies apart; empty if a policy has none.
func credentialsOf(namespace string, credentials *policiesv1beta1.Credentials) string {
	if credentials == nil {
		return ""
	}
	return fmt.Sprintf("%s %v %v", namespace, credentials.Providers, credentials.Secrets)
}

// generate adds the variants, and compiles each once to find what is wrong with it.
func (p *imagePolicy) generate(decoded policiesv1beta1.ImageValidatingPolicyLike, exceptions []*policiesv1beta1.PolicyException) error {
	provider, err := ivpolengine.NewProvider([]policiesv1beta1.ImageValidatingPolicyLike{decoded}, exceptions)
	if err != nil {
		return err
	}
	policies, err := provider.Fetch(context.Background())
	if err != nil {
		return err
	}
	for _, one := range policies {
		variant := &imageVariant{Policy: one}
		if _, err := p.compiled(variant, podResource); err != nil {
			return err
		}
		p.variants = append(p.variants, variant)
		p.Facts.Targets = append(p.Facts.Targets, constraintTargets(one.Policy.GetSpec().MatchConstraints)...)
	}
	p.Facts.Targets = base.Unique(p.Facts.Targets)
	return nil
}

// podResource is what policies are compiled for that look at pods in other resources.
var podResource = metav1.GroupVersionResource{Version: "v1", Resource: "pods"}

func (p *imagePolicy) Evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	return p.run(ctx, subject, p.evaluate)
}

func (p *imagePolicy) evaluate(ctx context.Context, subject policy.Subject) ([]policy.Result, error) {
	session := p.compiler.Registries.Session(reach.Scope{Namespace: p.Facts.Identity.Namespace})
	if p.credentials != "" {
		session = session.As(p.credentials)
	}
	ctx, used := meter.With(registry.With(ctx, session))
	run := newImageRun(ctx, p, subject)
	var results []policy.Result
	for _, variant := range p.variants {
		response, err := run.evaluate(variant)
		if err == nil {
			err = used.Spent
		}
		if err != nil {
			return nil, fmt.Errorf("cannot evaluate the policy: %w", err)
		}
		if response != nil {
			// As in Kyverno, there is one result: that of the last variant that matches.
			results = []policy.Result{base.ResultOf(response, nil)}
		}
	}
	return base.Undecided(results, session), nil
}

// creation is the request that a scan stands for: somebody is creating the subject.
func creation(library libs.Context, subject policy.Subject) admissionv1.AdmissionRequest {
	object := subject.Object
	request := celengine.Request(
		library, object.GroupVersionKind(), subject.Resource, "", object.GetName(), object.GetNamespace(),
		admissionv1.Create, authenticationv1.UserInfo{}, object, nil, false, nil,
	)
	return request.Request
}
