// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/client-go/util/workqueue"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	apiregistrationclient "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
)

const (
	// Many, because a worker waits for up to probeTimeout, and servers must not wait for each other.
	probeWorkers  = 20
	probeInterval = 30 * time.Second
	firstRetry    = time.Second
	conflictRetry = 100 * time.Millisecond

	// shadowing is the condition of an APIService that takes a group version from another owner.
	shadowing apiregistration.APIServiceConditionType = "Shadowing"
)

// availability probes extension servers and writes what it sees into their APIServices.
type availability struct {
	registry  *registry
	client    apiregistrationclient.APIServicesGetter
	discovery *discoverySource
	// localOwner tells who else serves a group version, "" if nobody.
	localOwner func(groupVersion string) string
	queue      workqueue.TypedRateLimitingInterface[string]
}

func newAvailability(a *Aggregator) *availability {
	return &availability{
		registry: a.registry, client: a.client.ApiregistrationV1(),
		discovery: newDiscoverySource(a.Generic.AggregatedDiscoveryGroupManager, aggregated.AggregatorSource), localOwner: a.locals.owner,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, probeInterval),
			workqueue.TypedRateLimitingQueueConfig[string]{Name: "docket_apiservice_availability"}),
	}
}

// changed probes a server at once, and often while that fails.
func (c *availability) changed(name string) {
	c.queue.Forget(name)
	c.queue.Add(name)
}

// run returns when ctx is done and all workers have ended.
func (c *availability) run(ctx context.Context) {
	work(ctx, c.queue, probeWorkers, func(ctx context.Context, name string) {
		ok, err := c.sync(ctx, name)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			utilruntime.HandleErrorWithContext(ctx, err, "Checking an APIService failed", "apiservice", name)
			c.queue.AddRateLimited(name)
		case !ok:
			c.queue.AddRateLimited(name)
		default:
			c.queue.Forget(name)
			c.queue.AddAfter(name, probeInterval)
		}
	})
}

// work runs handle for keys of the queue until ctx is done, and waits for it.
func work(ctx context.Context, queue workqueue.TypedRateLimitingInterface[string], workers int, handle func(context.Context, string)) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for key, end := queue.Get(); !end; key, end = queue.Get() {
				handle(ctx, key)
				queue.Done(key)
			}
		})
	}
	<-ctx.Done()
	queue.ShutDown()
	wg.Wait()
}

// sync probes one server. It reports whether the server is available, or no longer registered.
func (c *availability) sync(ctx context.Context, name string) (bool, error) {
	b := c.registry.named(name)
	if b == nil {
		c.discovery.remove(helper.APIServiceNameToGroupVersion(name))
		availableGauge.DeleteLabelValues(name)
		return true, nil
	}
	c.discovery.register(b)
	condition := c.probe(ctx, b)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	ok := condition.Status == apiregistration.ConditionTrue
	value := 0.0
	if ok {
		value = 1
	}
	availableGauge.WithLabelValues(name).Set(value)
	probes.WithLabelValues(condition.Reason).Inc()
	return ok, c.write(ctx, b.service, condition)
}

// probe asks the server, and hands what it says to discovery.
func (c *availability) probe(ctx context.Context, b *backend) apiregistration.APIServiceCondition {
	if target, err := b.address(); err == nil {
		c.registry.located(b.name(), target.Host)
	}
	resources, err := b.probe(ctx)
	if err == nil {
		err = c.discovery.publish(b, resources)
	}
	condition := apiregistration.APIServiceCondition{
		Type: apiregistration.Available, Status: apiregistration.ConditionTrue, LastTransitionTime: metav1.Now(),
		Reason: "Passed", Message: "all checks passed",
	}
	if err == nil {
		return condition
	}
	c.discovery.stale(b)
	condition.Status, condition.Reason = apiregistration.ConditionFalse, "FailedDiscoveryCheck"
	var where *unresolved
	switch {
	case errors.As(err, &where):
		condition.Reason, condition.Message = where.reason, where.message
	case errors.Is(err, errNotFound):
		condition.Message = fmt.Sprintf("the server does not serve %s", b.path())
	default:
		condition.Message = "the server " + describe(err)
	}
	return condition
}

// write changes the status of an APIService if it says something else.
func (c *availability) write(ctx context.Context, old *apiregistration.APIService, condition apiregistration.APIServiceCondition) error {
	service := old.DeepCopy()
	helper.SetAPIServiceCondition(service, condition)
	c.setShadowing(service)
	if equality.Semantic.DeepEqual(old.Status, service.Status) {
		return nil
	}
	_, err := c.client.APIServices().UpdateStatus(ctx, service, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		c.queue.AddAfter(old.Name, conflictRetry) // By then the informer has the current state.
		return nil
	}
	return err
}

func (c *availability) setShadowing(service *apiregistration.APIService) {
	owner := c.localOwner(service.Spec.Group + "/" + service.Spec.Version)
	if owner != "" {
		helper.SetAPIServiceCondition(service, apiregistration.APIServiceCondition{
			Type: shadowing, Status: apiregistration.ConditionTrue, LastTransitionTime: metav1.Now(), Reason: "ServedElsewhere",
			Message: fmt.Sprintf("%s/%s is also served by %s; requests go to the server of this APIService", service.Spec.Group, service.Spec.Version, owner),
		})
		return
	}
	conditions := service.Status.Conditions[:0]
	for _, condition := range service.Status.Conditions {
		if condition.Type != shadowing {
			conditions = append(conditions, condition)
		}
	}
	service.Status.Conditions = conditions
}
