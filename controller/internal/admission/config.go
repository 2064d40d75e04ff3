// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/served"
)

// The paths that [Server.Handler] answers. They belong to two webhooks of one configuration.
const (
	// PathFail evaluates the policies that are closed; its webhook has the failurePolicy Fail.
	PathFail = "/validate/fail"
	// PathIgnore evaluates the others; its webhook has the failurePolicy Ignore.
	PathIgnore = "/validate/ignore"
)

// perProcessor is the default of [Config.Concurrency] for each processor.
const perProcessor = 8

// Catalogs is the part of a [served.Watcher] that is needed.
type Catalogs interface {
	Current() *served.Catalog
}

// Config is what a [Server] needs. Client, Catalogs and Policies are required.
type Config struct {
	// Client reads namespaces and role bindings, and writes EphemeralReports.
	Client dynamic.Interface
	// Catalogs says of which kind the object is that a subresource belongs to.
	Catalogs Catalogs
	// Policies returns those of the cluster; nil until they are known. Nobody changes the slice, and it
	// is the same one until the policies change.
	Policies func() []policy.Policy
	// All has every policy evaluated that is enabled for admission, and not only those that [policy.WantsReview] names.
	All bool
	// Exclude lists resources that are never evaluated, beside [policy.NeverReviewed].
	Exclude []schema.GroupResource
	// Events takes Events about denied requests, and About returns the policy that one is on, false
	// if there is none any more. Without them there are no Events.
	Events typedcorev1.EventsGetter
	About  func(policy.Identity) (corev1.ObjectReference, bool)
	// Concurrency is how many requests each of the two webhooks evaluates at a time; 0 means eight a
	// processor.
	Concurrency int
	// BodyMemory is how many bytes the bodies of requests have at most at a time, for each of the two
	// webhooks; 0 means 32 MiB.
	BodyMemory int64
	// Timeout is how long a request is waited for unless a policy asks for more, whatever the request
	// says; 0 means ten seconds (--webhook-timeout).
	Timeout time.Duration
	// QueueLength is how many subjects wait at most for their results to be handed on; 0 means 10,000.
	QueueLength int
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

func (c *Config) complete() error {
	var errs []error
	for name, missing := range map[string]bool{
		"Client": c.Client == nil, "Catalogs": c.Catalogs == nil, "Policies": c.Policies == nil,
	} {
		if missing {
			errs = append(errs, fmt.Errorf("admission: config: %s is required", name))
		}
	}
	for name, negative := range map[string]bool{
		"Concurrency": c.Concurrency < 0, "QueueLength": c.QueueLength < 0, "BodyMemory": c.BodyMemory < 0, "Timeout": c.Timeout < 0,
	} {
		if negative {
			errs = append(errs, fmt.Errorf("admission: config: %s is negative; give 0 for the default", name))
		}
	}
	if c.Concurrency == 0 {
		c.Concurrency = perProcessor * runtime.GOMAXPROCS(0)
	}
	if c.BodyMemory > 0 && c.BodyMemory < 2*maxBody {
		errs = append(errs, fmt.Errorf("admission: config: BodyMemory is less than %d, which one request takes", 2*maxBody))
	}
	if c.BodyMemory == 0 {
		c.BodyMemory = defaultBodyMemory
	}
	if c.Timeout == 0 {
		c.Timeout = policy.DefaultReviewTimeout
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return errors.Join(errs...)
}
