// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	// sweepMinRetry, sweepMaxRetry and sweepRetries bound the retries for a namespace that
	// can't be swept: a database may be away for about a quarter of an hour.
	sweepMinRetry = 100 * time.Millisecond
	sweepMaxRetry = time.Minute
	sweepRetries  = 25
)

// SweeperConfig is what a sweeper works with.
type SweeperConfig struct {
	// Cluster is asked once more before anything is deleted. Its user must be allowed to
	// get namespaces.
	Cluster kubernetes.Interface
	// Namespaces lists the cluster's namespaces. The caller starts the informer.
	Namespaces coreinformers.NamespaceInformer
	// Objects are those of this server, with all rights.
	Objects metadata.Interface
	// Resources returns those to sweep now.
	Resources func() []schema.GroupVersionResource
	// Swept is called with the number of objects after each sweep that deleted any; nil for
	// nobody.
	Swept func(objects int)
}

// Sweeper deletes what a cluster's own controller has left behind in deleted namespaces: that
// controller deletes through the version that the cluster prefers, which another server may
// serve. Without a sweeper, the next namespace of that name would show old objects.
//
// It acts only on namespaces whose deletion it has seen. A missing namespace proves
// nothing: the database may belong to another cluster.
type Sweeper struct {
	config SweeperConfig
	queue  workqueue.TypedRateLimitingInterface[ended]
	listen cache.ResourceEventHandlerRegistration
}

// ended is one namespace that was deleted.
type ended struct {
	name string
	uid  types.UID
}

// NewSweeper returns a sweeper that records deleted namespaces from now on, and sweeps
// them once it runs.
func NewSweeper(config SweeperConfig) (*Sweeper, error) {
	s := &Sweeper{config: config, queue: workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[ended](sweepMinRetry, sweepMaxRetry))}
	var err error
	s.listen, err = config.Namespaces.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: s.replaced, DeleteFunc: s.deleted,
	})
	if err != nil {
		return nil, fmt.Errorf("watch namespaces: %w", err)
	}
	return s, nil
}

func (s *Sweeper) deleted(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if namespace, ok := object.(*corev1.Namespace); ok {
		s.queue.Add(ended{namespace.Name, namespace.UID})
	}
}

// replaced records a namespace that was deleted and recreated while the watch was interrupted.
func (s *Sweeper) replaced(before, after any) {
	old, wasNamespace := before.(*corev1.Namespace)
	now, isNamespace := after.(*corev1.Namespace)
	if wasNamespace && isNamespace && old.UID != now.UID {
		s.queue.Add(ended{old.Name, old.UID})
	}
}

// Run sweeps until ctx ends, and returns nil then. The nil Sweeper has nothing to do.
func (s *Sweeper) Run(ctx context.Context) error {
	if s == nil {
		return nil
	}
	var group errgroup.Group
	group.Go(func() error {
		<-ctx.Done()
		s.queue.ShutDown()
		// The informer may have ended before; then it has forgotten us.
		_ = s.config.Namespaces.Informer().RemoveEventHandler(s.listen)
		return nil
	})
	group.Go(func() error {
		for s.next(ctx) {
		}
		return nil
	})
	return group.Wait()
}

func (s *Sweeper) next(ctx context.Context) bool {
	namespace, shutdown := s.queue.Get()
	if shutdown {
		return false
	}
	defer s.queue.Done(namespace)
	swept, err := Sweep(ctx, s.config.Objects, namespace.name, s.config.Resources(), func(ctx context.Context) (Belongs, error) {
		return s.belongs(ctx, namespace)
	})
	if swept > 0 {
		klog.InfoS("Deleted what was left in a namespace that ended", "namespace", namespace.name, "objects", swept)
		if s.config.Swept != nil {
			s.config.Swept(swept)
		}
	}
	switch {
	case err == nil:
		s.queue.Forget(namespace)
	case ctx.Err() != nil:
	case s.queue.NumRequeues(namespace) >= sweepRetries:
		klog.ErrorS(err, "Objects of a namespace that ended could not be deleted; they stay until someone deletes them", "namespace", namespace.name)
		s.queue.Forget(namespace)
	default:
		klog.V(2).InfoS("A namespace that ended can't be swept yet", "namespace", namespace.name, "reason", err)
		s.queue.AddRateLimited(namespace)
	}
	return true
}

// belongs asks the cluster and returns what reports whether an object that was there before
// the question is of the ended namespace.
func (s *Sweeper) belongs(ctx context.Context, namespace ended) (Belongs, error) {
	var now *corev1.Namespace
	err := withTimeout(ctx, func(ctx context.Context) (err error) {
		now, err = s.config.Cluster.CoreV1().Namespaces().Get(ctx, namespace.name, metav1.GetOptions{})
		return err
	})
	switch {
	case IsGone(err, namespace.name):
		return All, nil
	case err != nil:
		return nil, fmt.Errorf("get namespace %s: %w", namespace.name, err)
	case now.UID == namespace.uid:
		return nil, fmt.Errorf("namespace %s was deleted, but is there with the same UID", namespace.name)
	}
	// It has been recreated. The times are from two machines' clocks, which is why this
	// comes last: objects of the same second are left alone.
	return func(object *metav1.ObjectMeta) bool { return object.CreationTimestamp.Before(&now.CreationTimestamp) }, nil
}

// IsGone reports whether an error is a cluster's own statement that a namespace does not
// exist, and not a 404 from something in between.
func IsGone(err error, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	if details == nil || details.Kind != "namespaces" || details.Name != name {
		return false
	}
	for _, cause := range details.Causes {
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse {
			return false
		}
	}
	return true
}
