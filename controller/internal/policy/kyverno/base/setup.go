// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package base

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/bounds"
	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
	"github.com/docket-project/docket/controller/internal/policy/mutation"
)

// ErrNoEntries is what is wrong with a policy that reads the context cache where there is none.
var ErrNoEntries = errors.New("there is no context cache here")

// errNoCluster is what is wrong with a policy that asks a cluster where there is none.
var errNoCluster = errors.New("there is no cluster to ask")

const (
	// DefaultTimeout is much longer than any honest evaluation takes, API calls included.
	DefaultTimeout = 30 * time.Second
	// VerboseLevel is the verbosity of klog that lets Kyverno's engines log.
	VerboseLevel = 8
)

// Config is what a compiler works with. Of the first three, all or none are required: without them there is no cluster,
// and what asks one gives the outcome error.
type Config struct {
	// Client reads what policies ask for.
	Client dynamic.Interface
	// Kubernetes does the same, where Kyverno needs types, discovery or raw paths.
	Kubernetes kubernetes.Interface
	// Mapper tells the resources of kinds.
	Mapper meta.RESTMapper
	// Frozen tells that nothing that policies look up ever changes: each answer is kept in the context cache.
	Frozen bool
	// Entries is the context cache; without it, policies that read it get errors.
	Entries policy.Entries
	// Calls is for what policies ask of services; its REST is not used.
	Calls call.Config
	// Images says how registries are asked; without it they are not, and images are not verified.
	Images *Images
	// Schemas are those by which resources are mutated; without it, those of Kubernetes' own kinds.
	Schemas *mutation.Schemas
	// ExceptionNamespaces are those whose exceptions count; [policy.AllNamespaces] for all, none if it is empty.
	ExceptionNamespaces []string
	// CompatibleOperands has operands that can't be read taken for zero, empty or false, as in Kyverno.
	CompatibleOperands bool
	// Timeout limits one evaluation; 30 s if zero.
	Timeout time.Duration
}

var (
	quiet   sync.Once
	bounded = sync.OnceValue(meter.Programs)
)

// silence has a second reason: until it has a sink, that logger remembers every logger made from
// it, and the engines make several in each evaluation.
func silence() {
	if klog.V(VerboseLevel).Enabled() {
		log.SetLogger(klog.Background().WithName("kyverno"))
		return
	}
	log.SetLogger(logr.Discard())
}

// Setup is a configuration that has been checked, with what the compilers of both engines make of it.
type Setup struct {
	// Config has no zero values where there are defaults for them.
	Config
	// Services calls services.
	Services *call.Client
	// Registries is nil if they are not asked.
	Registries *RegistryAccess
	// Runners have the goroutines of evaluations.
	Runners Runners
	// Answers are what evaluations may read at one time.
	Answers bounds.Budget
}

// NewSetup checks a configuration. The first one in a process silences the logger of Kyverno's
// engines, which is that of controller-runtime, unless klog's verbosity is 8 or higher.
func NewSetup(c Config) (*Setup, error) {
	quiet.Do(silence)
	if err := bounded(); err != nil {
		return nil, err
	}
	if c.Timeout < 0 {
		return nil, fmt.Errorf("the timeout %s is negative: set Timeout to a positive duration, or to 0 for %s", c.Timeout, DefaultTimeout)
	}
	if c.Client == nil && c.Kubernetes == nil {
		none := &rest.Config{Transport: nowhere{}}
		c.Client, c.Kubernetes, c.Mapper = dynamic.NewForConfigOrDie(none), kubernetes.NewForConfigOrDie(none), meta.NewDefaultRESTMapper(nil)
	}
	if c.Client == nil || c.Kubernetes == nil || c.Mapper == nil {
		return nil, errors.New("a cluster needs all of Client, Kubernetes and Mapper: set the missing ones, or none")
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Schemas == nil {
		c.Schemas = mutation.NewSchemas(nil)
	}
	return &Setup{Config: c, Services: call.NewClient(c.Calls), Registries: newRegistryAccess(c)}, nil
}

// Limits returns the limits of one policy.
func (s *Setup) Limits() *Limits {
	return &Limits{Timeout: s.Timeout, Runners: &s.Runners, Answers: &s.Answers}
}

// nowhere is the transport to no cluster.
type nowhere struct{}

func (nowhere) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close() // As transports have to.
	}
	return nil, errNoCluster
}
