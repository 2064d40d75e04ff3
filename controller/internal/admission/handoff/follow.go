// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/source"
)

const (
	// pageSize is the number of complete EphemeralReports in memory.
	pageSize = 100
	// watchTime is how long a watch lasts before the server ends it.
	watchTime = 5 * time.Minute
)

// errEnded says that the server has ended a watch after its time.
var errEnded = errors.New("the watch has ended")

// follow takes all existing EphemeralReports of a resource, in pages, and then new ones, and retries whatever fails. It
// keeps none of them in memory.
func (i *Inbox) follow(ctx context.Context, resource schema.GroupVersionResource) {
	pause, told := firstPause, false
	for ctx.Err() == nil {
		begin, operation := i.config.Clock.Now(), "list"
		version, err := i.list(ctx, resource)
		if err == nil {
			operation = "watch"
			err = i.watchFrom(ctx, resource, version)
		}
		if i.config.Clock.Since(begin) > longestPause {
			pause, told = firstPause, false // There was no failure.
		}
		if ctx.Err() != nil {
			return
		}
		if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			i.failed(ctx, err, operation, resource, told)
			told = true
		}
		timer := i.config.Clock.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
		pause = min(2*pause, longestPause)
	}
}

// failed counts a failure, and logs it unless it was told. Where Kyverno's EphemeralReports are
// not served or may not be read, there is nothing to adopt, which is no failure.
func (i *Inbox) failed(ctx context.Context, err error, operation string, resource schema.GroupVersionResource, told bool) {
	logger := klog.FromContext(ctx)
	if i.origin != ours && (source.Missing(err) || apierrors.IsForbidden(err)) {
		if !told {
			logger.Info("Kyverno's results are not taken for now: its reports can't be read", "resource", resource.GroupResource(), "reason", err.Error())
		}
		return
	}
	i.origin.errors.WithLabelValues(operation).Inc()
	if !told {
		logger.Error(err, "EphemeralReports can't be read; will retry", "resource", resource.GroupResource(), "manager", i.origin.manager, "served", !source.Missing(err))
	}
}

// list takes all that exist, and returns the resourceVersion to watch from.
func (i *Inbox) list(ctx context.Context, resource schema.GroupVersionResource) (string, error) {
	options := metav1.ListOptions{LabelSelector: i.origin.selector(), Limit: pageSize}
	for {
		page, err := i.page(ctx, resource, options)
		if err != nil {
			return "", fmt.Errorf("list %s: %w", resource.GroupResource(), err)
		}
		for k := range page.Items {
			i.take(ctx, resource, &page.Items[k])
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return page.GetResourceVersion(), nil
		}
	}
}

func (i *Inbox) page(ctx context.Context, resource schema.GroupVersionResource, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*requestTimeout)
	defer cancel()
	return i.config.Client.Resource(resource).List(ctx, options)
}

// watchFrom takes what is created after a resourceVersion, until watching fails.
func (i *Inbox) watchFrom(ctx context.Context, resource schema.GroupVersionResource, version string) error {
	for {
		begin := i.config.Clock.Now()
		watcher, err := i.config.Client.Resource(resource).Watch(ctx, metav1.ListOptions{
			LabelSelector: i.origin.selector(), ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: new(int64(watchTime.Seconds())),
		})
		if err == nil {
			version, err = i.events(ctx, resource, watcher, version)
			watcher.Stop()
		}
		if !errors.Is(err, errEnded) || i.config.Clock.Since(begin) < time.Second {
			return fmt.Errorf("watch %s: %w", resource.GroupResource(), err)
		}
	}
}

// events takes the events of a watch, and returns the last resourceVersion.
func (i *Inbox) events(ctx context.Context, resource schema.GroupVersionResource, watcher watch.Interface, version string) (string, error) {
	for {
		select {
		case <-ctx.Done():
			return version, ctx.Err()
		case event, ok := <-watcher.ResultChan():
			if !ok {
				return version, errEnded
			}
			object, isObject := event.Object.(*unstructured.Unstructured)
			switch {
			case event.Type == watch.Error:
				return version, apierrors.FromObject(event.Object)
			case !isObject:
				return version, fmt.Errorf("an event has an object of the type %T", event.Object)
			case event.Type == watch.Added || event.Type == watch.Modified:
				i.take(ctx, resource, object)
			}
			version = object.GetResourceVersion()
		}
	}
}
