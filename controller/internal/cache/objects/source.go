// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
)

// Source is where objects come from: a cluster, which says when they change, or the API of a scan of files, which don't
// change.
//
// The two methods are enough for each question that a policy has: a get is a selection with a name, a list one with
// selectors, a watch the feed that goes on. So what the context cache, a context entry (configMap, apiCall), a CEL
// library (resource.Get, resource.List), a namespace look-up, or a parameter asks of a cluster, an [API] answers from
// files in the same words. What only an API server can answer (a review, a log) is an error, not an empty list.
type Source interface {
	// Kinds returns what there is to select from; nil while that is not known.
	Kinds() *served.Catalog
	// Feed gives a sink all objects of a selection, and then their changes, until the worker is stopped.
	Feed(ctx context.Context, of Selection, into Sink) Worker
}

// Sink takes objects, with one call at a time, and learns how that goes.
type Sink interface {
	source.Store
	// Listing is called when a list begins.
	Listing()
	// Changed is called with an error when the source begins to fail or fails for another reason, and with nil when
	// it has listed and when it no longer fails.
	Changed(err error)
	// Failed is called for each request that fails.
	Failed(operation string)
}

// Worker feeds a store.
type Worker interface {
	// Decided reports whether there is no point in waiting for the first objects.
	Decided() bool
	// Stop returns when nothing is done any more.
	Stop()
}

// Cluster is the source of the objects in a cluster: it lists and watches.
type Cluster struct {
	Client dynamic.Interface
	Served *served.Watcher
	Clock  clock.WithTicker
}

var _ Source = (*Cluster)(nil)

// Kinds implements [Source].
func (c *Cluster) Kinds() *served.Catalog { return c.Served.Current() }

// Feed implements [Source].
func (c *Cluster) Feed(ctx context.Context, of Selection, into Sink) Worker {
	selector := of.Fields
	if of.Name != "" {
		selector = fields.OneTermEqualSelector(fieldName, of.Name).String()
	}
	s := source.New(source.Config{
		Resource: of.Resource, Namespace: of.Namespace, Labels: of.Labels, Fields: selector,
		Client: c.Client, Clock: c.Clock, Listing: into.Listing, Changed: into.Changed, Failed: into.Failed,
	})
	s.Start(ctx, into)
	return s
}
