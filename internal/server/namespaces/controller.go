// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	// workers are several, so that a namespace with a slow server does not delay the others.
	workers = 5
	// minRetry and maxRetry bound the pause before a namespace is retried. After a finalizer
	// is removed, its namespace waits no longer than maxRetry.
	minRetry = 50 * time.Millisecond
	maxRetry = 10 * time.Second
	// readyInterval is the pause between two questions whether the server is ready.
	readyInterval = 100 * time.Millisecond
)

// Config of a controller.
type Config struct {
	// Client reaches the server. Its user must be allowed to list and delete everything,
	// and to finalize namespaces.
	Client *rest.Config
}

// Controller empties the namespaces of a server that are being deleted.
type Controller struct {
	core      kubernetes.Interface
	metadata  metadata.Interface
	informers informers.SharedInformerFactory
	lister    corelisters.NamespaceLister
	queue     workqueue.TypedRateLimitingInterface[string]
}

// New returns a controller that does nothing until Run.
func New(config Config) (*Controller, error) {
	core, err := kubernetes.NewForConfig(config.Client)
	if err != nil {
		return nil, fmt.Errorf("client for namespaces: %w", err)
	}
	objects, err := metadata.NewForConfig(config.Client)
	if err != nil {
		return nil, fmt.Errorf("client for the objects of namespaces: %w", err)
	}
	factory := informers.NewSharedInformerFactory(core, 0)
	c := &Controller{
		core: core, metadata: objects, informers: factory, lister: factory.Core().V1().Namespaces().Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetry, maxRetry)),
	}
	_, err = factory.Core().V1().Namespaces().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { c.enqueue(nil, object) },
		UpdateFunc: c.enqueue,
		DeleteFunc: c.deleted,
	})
	if err != nil {
		return nil, fmt.Errorf("watch namespaces: %w", err)
	}
	return c, nil
}

// enqueue queues a namespace that is now terminating. The conditions that this controller
// writes itself must not trigger it.
func (c *Controller) enqueue(before, after any) {
	namespace, ok := after.(*corev1.Namespace)
	if !ok || namespace.DeletionTimestamp == nil {
		return
	}
	if old, ok := before.(*corev1.Namespace); ok && old.DeletionTimestamp != nil && slices.Equal(old.Spec.Finalizers, namespace.Spec.Finalizers) {
		return
	}
	c.queue.Add(namespace.Name)
}

func (c *Controller) deleted(object any) {
	if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil && slices.Contains(system(), key) {
		c.queue.Add(key)
	}
}

// Run works until ctx ends, and returns nil then.
func (c *Controller) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		<-ctx.Done()
		c.queue.ShutDown()
		return nil
	})
	group.Go(func() error {
		if err := c.waitUntilReady(ctx); err != nil {
			return nil // ctx has ended.
		}
		c.informers.StartWithContext(ctx)
		// Its goroutines end with ctx, too, and are waited for.
		defer c.informers.Shutdown()
		c.informers.WaitForCacheSyncWithContext(ctx)
		var working errgroup.Group
		for range workers {
			working.Go(func() error {
				for c.next(ctx) {
				}
				return nil
			})
		}
		return working.Wait()
	})
	return group.Wait()
}

// waitUntilReady returns when the server says that it is ready: before that its
// discovery may lack groups, and their objects would outlive their namespace.
func (c *Controller) waitUntilReady(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, readyInterval, true, func(ctx context.Context) (bool, error) {
		var code int
		c.core.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).StatusCode(&code)
		return code == http.StatusOK, nil
	})
}

func (c *Controller) next(ctx context.Context) bool {
	name, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(name)
	err := c.sync(ctx, name)
	switch {
	case err == nil:
		c.queue.Forget(name)
		return true
	case errors.Is(err, errRemains):
		// Its conditions say so already.
		klog.FromContext(ctx).V(2).Info("Namespace is not empty yet", "namespace", name, "reason", err)
	case ctx.Err() == nil:
		klog.FromContext(ctx).Info("Namespace can't be emptied yet", "namespace", name, "reason", err)
	}
	c.queue.AddRateLimited(name)
	return true
}

// errRemains: all went well, but something is still there.
var errRemains = errors.New("objects remain")

// sync empties and finalizes one namespace as far as possible. It returns an error if that
// has to be retried.
func (c *Controller) sync(ctx context.Context, name string) error {
	namespace, err := c.lister.Get(name)
	if apierrors.IsNotFound(err) {
		if slices.Contains(system(), name) {
			return EnsureSystem(ctx, c.core)
		}
		return nil
	}
	if err != nil {
		return err
	}
	if namespace.DeletionTimestamp == nil || !slices.Contains(namespace.Spec.Finalizers, corev1.FinalizerKubernetes) {
		return nil
	}
	found := c.emptyAll(ctx, name)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := c.report(ctx, namespace, found); err != nil {
		return fmt.Errorf("write the conditions: %w", err)
	}
	if err := found.err(); err != nil {
		return err
	}
	return c.finalize(ctx, namespace)
}

// finalize removes our finalizer. Those of others stay, and keep the namespace.
func (c *Controller) finalize(ctx context.Context, emptied *corev1.Namespace) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		namespace, err := c.core.CoreV1().Namespaces().Get(ctx, emptied.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if namespace.UID != emptied.UID {
			return nil // A new namespace of the same name, which has not been emptied.
		}
		namespace.Spec.Finalizers = slices.DeleteFunc(namespace.Spec.Finalizers, func(f corev1.FinalizerName) bool {
			return f == corev1.FinalizerKubernetes
		})
		_, err = c.core.CoreV1().Namespaces().Finalize(ctx, namespace, metav1.UpdateOptions{})
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("finalize: %w", err)
	}
	return nil // It is gone already.
}
