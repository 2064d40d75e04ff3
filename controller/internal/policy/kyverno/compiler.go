// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/kyverno/kyverno/pkg/config"
	engineapi "github.com/kyverno/kyverno/pkg/engine/api"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/docket-project/docket/controller/internal/contextcache/call"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/mutation"
)

const (
	// defaultTimeout is much longer than any honest evaluation takes, API calls included.
	defaultTimeout = 30 * time.Second
	// maxContextBytes bounds what a rule loads into its context, and the answer of one API
	// call. Kyverno allows 2 MiB, which a list of a few thousand objects exceeds. The subject
	// does not count, and neither does what the context cache shares (see [sharedVariables]).
	maxContextBytes = 16 << 20
	// verboseLevel is the verbosity of klog that lets Kyverno's engines log.
	verboseLevel = 8
)

// Config is what a [Compiler] works with. The zero Config is for evaluation from files: context
// that needs a cluster gives the outcome error. With a cluster, the first three are required.
type Config struct {
	// Client reads what policies ask for.
	Client dynamic.Interface
	// Kubernetes does the same, where Kyverno needs types, discovery or raw paths.
	Kubernetes kubernetes.Interface
	// Mapper tells the resources of kinds.
	Mapper meta.RESTMapper
	// Entries is the context cache; without it, policies that read it get errors.
	Entries policy.Entries
	// Calls is for what policies ask of services; its REST is not used.
	Calls call.Config
	// Images says how registries are asked; without it they are not, and images are not verified.
	Images *Images
	// Schemas are those by which resources are mutated; without it, those of Kubernetes' own kinds.
	Schemas *mutation.Schemas
	// ExceptionNamespaces are those whose exceptions count; [policy.AllNamespaces] for all, none if it
	// is empty.
	ExceptionNamespaces []string
	// Timeout limits one evaluation; 30 s if zero.
	Timeout time.Duration
}

// Compiler makes policies that Kyverno's engines evaluate. It is safe for concurrent use.
type Compiler struct {
	settings config.Configuration
	jmespath *expressions
	// client and contexts answer with errors if there is no cluster.
	client   engineapi.Client
	contexts engineapi.ContextLoaderFactory
	library  *library
	services *call.Client
	// registries is nil if they are not asked.
	registries *registryAccess
	// exceptionNamespaces are as in [Config].
	exceptionNamespaces []string
	mapper              meta.RESTMapper
	schemas             *mutation.Schemas
	timeout             time.Duration
	runners             runners
}

var _ policy.Compiler = (*Compiler)(nil)

// NewCompiler returns a compiler. The first one in a process silences the logger of Kyverno's
// engines, which is that of controller-runtime, unless klog's verbosity is 8 or higher.
func NewCompiler(config Config) (*Compiler, error) {
	quiet.Do(silence)
	if err := bounded(); err != nil {
		return nil, err
	}
	return newCompiler(config)
}

var (
	quiet   sync.Once
	bounded = sync.OnceValue(meterPrograms)
)

// silence has a second reason: until it has a sink, that logger remembers every logger made from
// it, and the engines make several in each evaluation.
func silence() {
	if klog.V(verboseLevel).Enabled() {
		log.SetLogger(klog.Background().WithName("kyverno"))
		return
	}
	log.SetLogger(logr.Discard())
}

func newCompiler(c Config) (*Compiler, error) {
	if c.Timeout < 0 {
		return nil, fmt.Errorf("the timeout %s is negative: set Timeout to a positive duration, or to 0 for %s", c.Timeout, defaultTimeout)
	}
	settings := config.NewDefaultConfiguration(false)
	compiler := &Compiler{
		settings: settings, jmespath: newExpressions(settings), mapper: c.Mapper, timeout: c.Timeout,
		services: call.NewClient(c.Calls), exceptionNamespaces: c.ExceptionNamespaces, registries: newRegistryAccess(c),
	}
	if compiler.schemas = c.Schemas; compiler.schemas == nil {
		compiler.schemas = mutation.NewSchemas(nil)
	}
	if c.Timeout == 0 {
		compiler.timeout = defaultTimeout
	}
	if c.Client == nil && c.Kubernetes == nil {
		compiler.client, compiler.contexts, compiler.library = absentClient{}, absentContexts(c.Entries, c.Images != nil), newLibrary(nil, nil, c.Entries, compiler.registries)
		return compiler, nil
	}
	if c.Client == nil || c.Kubernetes == nil || c.Mapper == nil {
		return nil, errors.New("a cluster needs all of Client, Kubernetes and Mapper: set the missing ones, or none for evaluation from files")
	}
	var err error
	if compiler.client, err = newClient(c); err != nil {
		return nil, err
	}
	compiler.contexts = clusterContexts(c.Kubernetes, c.Entries, compiler.services, c.Images != nil)
	compiler.library = newLibrary(c.Client, c.Mapper, c.Entries, compiler.registries)
	return compiler, nil
}

// Compile returns the policy that object describes, with those of exceptions that refer to it.
// Exceptions for CEL policies that have expired are left out: compile again when one expires. Those
// that don't count are told by [policy.IgnoredExceptions].
func (c *Compiler) Compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	var out policy.Policy
	problem := protect(func() error {
		out = c.compile(object, exceptions)
		return nil
	})
	if problem == nil {
		return out
	}
	described := describe(object, nil)
	return described.broken(nil, problem)
}

func (c *Compiler) compile(object *unstructured.Unstructured, exceptions []*unstructured.Unstructured) policy.Policy {
	kind := object.GroupVersionKind()
	switch {
	case kind.Group == policy.KyvernoGroup && (kind.Kind == policy.ClusterPolicy || kind.Kind == policy.NamespacedPolicy):
		return c.compileClassic(object, exceptions)
	case kind.Group == policy.CELGroup && (kind.Kind == policy.ValidatingPolicy || kind.Kind == policy.NamespacedValidatingPolicy):
		return c.compileCEL(object, exceptions)
	case kind.Group == policy.CELGroup && (kind.Kind == policy.ImageValidatingPolicy || kind.Kind == policy.NamespacedImageValidatingPolicy):
		return c.compileImages(object, exceptions)
	case kind.Group == policy.CELGroup && (kind.Kind == policy.MutatingPolicy || kind.Kind == policy.NamespacedMutatingPolicy):
		return c.compileMutating(object, exceptions)
	case policy.KyvernoKinds()[kind.GroupKind()] != "":
		return describeOnly(object)
	}
	described := describe(object, nil)
	return described.broken(nil, fmt.Errorf("%s %s is no kind of policy that can be evaluated", kind.GroupVersion(), kind.Kind))
}
