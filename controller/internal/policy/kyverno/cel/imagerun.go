// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	policiesv1beta1 "github.com/kyverno/api/api/policies.kyverno.io/v1beta1"
	"github.com/kyverno/kyverno/pkg/admissionpolicy"
	"github.com/kyverno/kyverno/pkg/cel/autogen/extract"
	"github.com/kyverno/kyverno/pkg/cel/libs"
	"github.com/kyverno/kyverno/pkg/cel/libs/imageverify"
	"github.com/kyverno/kyverno/pkg/cel/matching"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	imageverifycache "github.com/kyverno/kyverno/pkg/image/verification/cache"
	"github.com/kyverno/kyverno/pkg/image/verification/evaluator"
	"github.com/kyverno/sdk/extensions/imagedataloader"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/reach"
	"github.com/docket-project/docket/controller/internal/policy/registry"
)

// imageRun is the evaluation of a policy for a subject. It does what Kyverno's engine for these
// policies does, whose cache of images locks itself up when an image occurs twice before another one.
type imageRun struct {
	ctx        context.Context //nolint:containedctx // It lives as long as the evaluation.
	policy     *imagePolicy
	library    libs.Context
	request    admissionv1.AdmissionRequest
	attributes admission.Attributes
	namespace  runtime.Object
}

func newImageRun(ctx context.Context, p *imagePolicy, subject policy.Subject) *imageRun {
	run := &imageRun{ctx: ctx, policy: p, library: p.compiler.library.during(ctx, p.Facts.Identity.Namespace, p.credentials != "")}
	run.request = creation(run.library, subject)
	run.attributes = admission.NewAttributesRecord(
		subject.Object, &unstructured.Unstructured{}, subject.Object.GroupVersionKind(), subject.Object.GetNamespace(), subject.Object.GetName(),
		subject.Resource, "", admission.Create, nil, false, admissionpolicy.NewUser(run.request.UserInfo),
	)
	if namespace := subject.Namespace(); namespace != nil {
		run.namespace = namespace
	}
	return run
}

// evaluate returns the result of a variant; nil if it is not about the subject.
func (r *imageRun) evaluate(variant *imageVariant) (*engineapi.RuleResponse, error) {
	matches, err := matching.NewMatcher().Match(&matching.MatchCriteria{Constraints: variant.Policy.Policy.GetSpec().MatchConstraints}, r.attributes, r.namespace)
	if err != nil {
		return engineapi.RuleError("match", engineapi.ImageVerify, "failed to execute matching", err, nil), nil
	}
	if !matches {
		return nil, nil
	}
	resource := podResource
	if !variant.ExtractionMode {
		resource = *r.request.RequestResource
	}
	program, err := r.policy.compiled(variant, resource)
	if err != nil {
		return nil, err
	}
	program.begin(r.ctx)
	var result *evaluator.EvaluationResult
	if variant.ExtractionMode {
		result, err = r.evaluateTemplates(program)
	} else {
		result, err = program.Evaluate(r.ctx, program.images, r.attributes, &r.request, r.namespace, true, r.library)
	}
	response := engineapi.RuleError("evaluation", engineapi.ImageVerify, "failed to evaluate policy", err, nil)
	if err == nil {
		response = concludeImages(variant.Policy.Policy.GetName(), program, result)
	}
	program.release() // Not after a panic.
	return response, nil
}

// concludeImages words a result as Kyverno does.
func concludeImages(rule string, program *imageProgram, result *evaluator.EvaluationResult) *engineapi.RuleResponse {
	switch {
	case result == nil:
		return nil
	case len(result.Exceptions) > 0:
		return exempted(result.Exceptions)
	case result.Error != nil:
		return engineapi.RuleError(rule, engineapi.ImageVerify, "error", result.Error, nil)
	case !result.Result:
		return engineapi.RuleFail(rule, engineapi.ImageVerify, result.Message, result.AuditAnnotations)
	}
	if err := program.EnforceRequired(result.MatchedImages); err != nil {
		return engineapi.RuleFail(rule, engineapi.ImageVerify, err.Error(), result.AuditAnnotations)
	}
	return engineapi.RulePass(rule, engineapi.ImageVerify, "success", result.AuditAnnotations)
}

func exempted(exceptions []*policiesv1beta1.PolicyException) *engineapi.RuleResponse {
	var keys []string
	var generic []engineapi.GenericException
	for _, exception := range exceptions {
		keys = append(keys, cache.MetaObjectToName(exception).String())
		generic = append(generic, engineapi.NewCELPolicyException(exception))
	}
	return engineapi.RuleSkip("exception", engineapi.Validation, "rule is skipped due to policy exception: "+strings.Join(keys, ", "), nil).WithExceptions(generic)
}

var errNoTemplate = errors.New("there is no pod template in the resource")

// evaluateTemplates evaluates the pod templates in a resource of a kind that Kyverno does not know.
func (r *imageRun) evaluateTemplates(program *imageProgram) (*evaluator.EvaluationResult, error) {
	object, _ := r.attributes.GetObject().(*unstructured.Unstructured)
	templates := extract.ExtractPodTemplates(object.Object)
	if len(templates) == 0 {
		return &evaluator.EvaluationResult{Error: errNoTemplate}, nil
	}
	var exceptions []*policiesv1beta1.PolicyException
	var images []string
	var last *evaluator.EvaluationResult
	for i := range templates {
		attributes := extract.SynthesizePodAttributes(&templates[i], nil, r.attributes)
		result, err := program.Evaluate(r.ctx, program.images, attributes, extract.SynthesizePodAdmissionRequest(&r.request, attributes), r.namespace, true, r.library)
		if err != nil {
			return nil, fmt.Errorf("pod template at %s: %w", templates[i].Path, err)
		}
		if result == nil {
			continue
		}
		if len(result.Exceptions) > 0 {
			exceptions = append(exceptions, result.Exceptions...)
			continue
		}
		images = append(images, result.MatchedImages...)
		last = result
		if result.Error == nil && !result.Result {
			result.Message += fmt.Sprintf(" (pod template at %s)", templates[i].Path)
		}
		if result.Error != nil || !result.Result {
			break
		}
	}
	if last != nil {
		last.MatchedImages = images
		return last, nil
	}
	if len(exceptions) > 0 {
		return &evaluator.EvaluationResult{Exceptions: exceptions}, nil
	}
	return nil, nil
}

// imageProgram is a compiled variant. It serves one evaluation at a time.
type imageProgram struct {
	evaluator.CompiledPolicy
	images *imageContext
	// verified is bound to the program, which notes in it the images that it has verified.
	verified *imageverify.ImageVerificationResults
	// secrets are bound to it, too.
	secrets *base.SecretLister
	idle    *sync.Pool
}

// compiled returns a program that nobody else has.
func (p *imagePolicy) compiled(variant *imageVariant, resource metav1.GroupVersionResource) (*imageProgram, error) {
	known, _ := variant.idle.LoadOrStore(resource, &sync.Pool{})
	idle, _ := known.(*sync.Pool)
	if program, ok := idle.Get().(*imageProgram); ok {
		return program, nil
	}
	credentials, scope := variant.Policy.Policy.GetSpec().Credentials, reach.Scope{Namespace: p.Facts.Identity.Namespace}
	program := &imageProgram{
		images:   newImageContext(p.compiler.Registries, scope, credentials != nil, credentials != nil && credentials.AllowInsecureRegistry),
		verified: imageverify.NewImageVerificationResults(), idle: idle,
		secrets: p.compiler.Registries.Lister(context.Background(), scope),
	}
	err := p.compiler.withLibrary(p.Facts.Identity.Namespace, func() error {
		compiler := evaluator.NewCompiler(program.images, program.secrets, &resource, imageverifycache.DisabledImageVerifyCache())
		var errs error
		compiled, list := compiler.Compile(variant.Policy.Policy, variant.Exceptions, program.verified)
		if list != nil {
			errs = list.ToAggregate()
		}
		program.CompiledPolicy = compiled
		return errs
	})
	if err != nil {
		return nil, err
	}
	return program, nil
}

// begin prepares the program for the evaluation of a context.
func (p *imageProgram) begin(ctx context.Context) {
	*p.verified = imageverify.ImageVerificationResults{}
	p.images.begin(ctx)
	p.secrets.Context = ctx
}

// release gives the program back.
func (p *imageProgram) release() {
	p.images.begin(context.Background())
	p.secrets.Context = context.Background()
	p.idle.Put(p)
}

// imageContext loads the data of images, each once in an evaluation.
type imageContext struct {
	access *base.RegistryAccess
	scope  reach.Scope
	// own is set for policies with credentials of their own, which may say that plain HTTP will do.
	own, insecure bool

	ctx   context.Context //nolint:containedctx // That of the current evaluation: Kyverno's interface passes none.
	known map[string]*imagedataloader.ImageData
}

var _ imagedataloader.ImageContext = (*imageContext)(nil)

func newImageContext(access *base.RegistryAccess, scope reach.Scope, own, insecure bool) *imageContext {
	return &imageContext{access: access, scope: scope, own: own, insecure: insecure}
}

// begin forgets what is known, and asks within another context.
func (c *imageContext) begin(ctx context.Context) {
	c.ctx, c.known = ctx, map[string]*imagedataloader.ImageData{}
}

func (c *imageContext) AddImages(ctx context.Context, images []string, options []remote.Option, names []name.Option) error {
	for _, image := range images {
		if _, err := c.Get(ctx, image, options, names); err != nil {
			return err
		}
	}
	return nil
}

// Get asks within the context of the evaluation: Kyverno passes another one.
func (c *imageContext) Get(_ context.Context, image string, options []remote.Option, names []name.Option) (*imagedataloader.ImageData, error) {
	if known := c.known[image]; known != nil {
		return known, nil
	}
	session, err := registry.From(c.ctx)
	if err != nil {
		return nil, err
	}
	options = slices.Clone(options)
	if c.own {
		options = append(options, session.Options(c.ctx)...)
	} else {
		options = append(options, c.access.Options(c.ctx, c.scope, session)...)
	}
	names = append(slices.Clone(names), c.access.NameOptions(c.insecure)...)
	loader, err := imagedataloader.New(nil, nil, nil)
	if err != nil {
		return nil, err
	}
	data, err := loader.FetchImageData(c.ctx, image, options, names)
	if err != nil {
		return nil, err
	}
	c.known[image] = data
	return data, nil
}
