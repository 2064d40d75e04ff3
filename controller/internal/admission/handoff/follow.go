// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
)

// pageSize is the number of complete EphemeralReports in memory.
const pageSize = 100

// follow takes all existing EphemeralReports of a resource and then new ones, until ctx is done.
func (i *Inbox) follow(ctx context.Context, resource schema.GroupVersionResource) {
	var from *source.Source
	from = source.New(source.Config{
		Resource: served.Resource{GroupVersionResource: resource}, Client: i.config.Client, Clock: i.config.Clock,
		Labels: i.origin.selector(), PageSize: pageSize,
		Changed: func(err error) { i.logFailure(ctx, resource, err) },
		Failed: func(operation string) {
			if _, err := from.State(); !i.nothingToAdopt(err) {
				i.origin.errors.WithLabelValues(operation).Inc()
			}
		},
	})
	from.Start(ctx, stream{ctx: ctx, inbox: i, resource: resource})
	<-ctx.Done()
	from.Stop()
}

// nothingToAdopt reports whether Kyverno's reports are not served or may not be read, which is no failure.
func (i *Inbox) nothingToAdopt(err error) bool {
	return i.origin != ours && (source.Missing(err) || apierrors.IsForbidden(err))
}

func (i *Inbox) logFailure(ctx context.Context, resource schema.GroupVersionResource, err error) {
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "resource", resource.GroupResource())
	switch {
	case err == nil:
	case i.nothingToAdopt(err):
		logger.Info("Kyverno's results are not taken for now: its reports can't be read", "reason", err.Error())
	default:
		logger.Error(err, "EphemeralReports can't be read; will retry", "manager", i.origin.manager, "served", !source.Missing(err))
	}
}

// stream is a [source.Store] that passes EphemeralReports on to an inbox and keeps none of them.
type stream struct {
	ctx      context.Context //nolint:containedctx // A store's methods have no parameter for it.
	inbox    *Inbox
	resource schema.GroupVersionResource
}

// Transformer takes those that exist while they are listed.
func (s stream) Transformer() cache.TransformFunc {
	return func(object any) (any, error) { return nil, errors.Join(s.Update(object), s.ctx.Err()) }
}

// Update takes one that is new.
func (s stream) Update(object any) error {
	u, ok := object.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("watched object of the type %T", object)
	}
	s.inbox.take(s.ctx, s.resource, u)
	return nil
}

// Delete ignores what is gone.
func (stream) Delete(any) error { return nil }

// Replace has nothing to do: what was listed is taken.
func (stream) Replace([]any, string) error { return nil }
