// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
)

// The paths that [Server.Handler] serves. They belong to two webhooks of one configuration.
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
	// Catalogs tells to which kind of object a subresource belongs.
	Catalogs Catalogs
	// Policies returns the policies of the cluster; nil until they are known. The slice is never changed, and
	// it is the same one until the policies change.
	Policies func() []policy.Policy
	// All is the argument of [policy.WantsReview]: whether all policies that are enabled for admission are
	// evaluated.
	All bool
	// Exclude lists resources that are never evaluated, in addition to [policy.NeverReviewed].
	Exclude []schema.GroupResource
	// Events receives Events about denied requests, and About returns the reference of a policy for them;
	// false if it no longer exists. If they are nil, there are no Events.
	Events typedcorev1.EventsGetter
	About  func(policy.Identity) (corev1.ObjectReference, bool)
	// Concurrency is the number of requests that each of the two webhooks evaluates at a time; 0 means eight
	// per processor.
	Concurrency int
	// BodyMemory bounds the bodies of all current requests of each of the two webhooks, in bytes; 0 means
	// 32 MiB. It must have room for the largest body twice.
	BodyMemory int64
	// Timeout is the time limit of a request (--webhook-timeout), even if the request allows more, unless a
	// policy asks for more; 0 means ten seconds.
	Timeout time.Duration
	// QueueLength bounds the subjects whose results wait to be handed over; 0 means 10,000.
	QueueLength int
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

func (c *Config) complete() {
	c.Concurrency = cmp.Or(c.Concurrency, perProcessor*runtime.GOMAXPROCS(0))
	c.BodyMemory = cmp.Or(c.BodyMemory, defaultBodyMemory)
	c.Timeout = cmp.Or(c.Timeout, policy.DefaultReviewTimeout)
	c.Clock = cmp.Or[clock.WithTicker](c.Clock, clock.RealClock{})
}
