// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/cluster/shard"
)

// existing tells the plan which reports the server has: all of them at the start, and then what others change.
type existing struct {
	plan   *plan
	remote *remote
	// shards is [Config.Shards].
	shards shard.Set
}

// load implements [Writer.Load].
func (e *existing) load(ctx context.Context) error {
	ours := selector(e.plan.layout.options.Instance)
	mine := LayoutLabel + "=" + e.plan.layout.options.label()
	others := LayoutLabel + "!=" + e.plan.layout.options.label()
	for _, source := range []struct {
		api      API
		selector string
	}{{e.plan.layout.options.API, ours + "," + mine}, {e.plan.layout.options.API, ours + "," + others}, {otherAPI(e.plan.layout.options.API), ours}} {
		for _, namespaced := range []bool{false, true} {
			k := kindOf(source.api, namespaced)
			err := e.remote.list(ctx, source.api, k, source.selector, func(object report.Accessor) error {
				if !e.shards.Owns(object.GetNamespace()) {
					return nil
				}
				return e.read(source.api, object)
			})
			if source.api != e.plan.layout.options.API && apierrors.IsNotFound(err) {
				continue // The server does not have that API.
			}
			if err != nil {
				return fmt.Errorf("load the %s of %s: %w", k.resource, source.api, err)
			}
		}
	}
	e.plan.mu.Lock()
	defer e.plan.mu.Unlock()
	e.plan.take()
	for _, rs := range e.plan.reports {
		// Reports whose name is right, but which have no result that can be read.
		if rs.exists && !rs.unwanted && e.plan.isObsolete(rs) {
			rs.unwanted, rs.cause = true, notOurs
		}
	}
	observeReports(len(e.plan.reports))
	klog.FromContext(ctx).Info("Read the reports that exist", e.plan.holdings()...)
	return nil
}

func otherAPI(api API) API {
	if api == OpenReports {
		return WGPolicy
	}
	return OpenReports
}

// read takes a report that the server has.
func (e *existing) read(api API, object report.Accessor) error {
	sum, err := hashOf(object)
	if err != nil {
		return err
	}
	current := e.plan.layout.load(object, api)
	e.plan.mu.Lock()
	defer e.plan.mu.Unlock()
	rs := e.plan.stateOf(reportID{api: api, reportKey: keyOf(object)})
	rs.unwanted, rs.cause = !current, otherLayout
	rs.has(object, sum)
	return nil
}

func keyOf(object report.Accessor) reportKey {
	return reportKey{namespace: object.GetNamespace(), name: object.GetName()}
}

// missing records that the server has no such report of ours; has records the one that it has.
func (rs *reportState) missing() { rs.exists, rs.hash, rs.identity = false, hash{}, identity{} }

func (rs *reportState) has(object report.Accessor, sum hash) {
	rs.exists, rs.hash = true, sum
	rs.identity = identityOf(object)
}

// watch watches the metadata of our reports of a kind until ctx is done, to notice changes by others.
func (e *existing) watch(ctx context.Context, k kind) {
	client := e.remote.metadata.Resource(k.gvr())
	lister := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector(e.plan.layout.options.Instance)
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector(e.plan.layout.options.Instance)
			return client.Watch(ctx, options)
		},
	}, e.remote.metadata)
	logger := klog.FromContext(ctx)
	cache.NewReflectorWithOptions(lister, &metav1.PartialObjectMetadata{}, &observer{existing: e, kind: k},
		cache.ReflectorOptions{Name: "reports", TypeDescription: k.resource, Logger: &logger}).RunWithContext(ctx)
}

// observer receives the reports of a kind from a reflector, and stores nothing.
type observer struct {
	*existing

	kind kind
}

var _ cache.ReflectorStore = &observer{}

// Add implements cache.ReflectorStore.
func (o *observer) Add(object any) error { return o.Update(object) }

// Update implements cache.ReflectorStore.
func (o *observer) Update(object any) error {
	if found, ok := object.(*metav1.PartialObjectMetadata); ok {
		o.plan.mu.Lock()
		defer o.plan.mu.Unlock()
		o.observed(o.key(found), found.ResourceVersion)
	}
	return nil
}

// Delete implements cache.ReflectorStore. A report without our label is as good as deleted.
func (o *observer) Delete(object any) error {
	if found, ok := object.(*metav1.PartialObjectMetadata); ok {
		o.plan.mu.Lock()
		defer o.plan.mu.Unlock()
		if rs := o.plan.reports[o.key(found)]; rs != nil && rs.UID == found.UID {
			o.lost(rs)
		}
	}
	return nil
}

// Replace implements cache.ReflectorStore. It is called when a watch starts again.
func (o *observer) Replace(objects []any, _ string) error {
	o.plan.mu.Lock()
	defer o.plan.mu.Unlock()
	found := make(map[reportID]bool, len(objects))
	for _, object := range objects {
		if object, ok := object.(*metav1.PartialObjectMetadata); ok {
			found[o.key(object)] = true
			o.observed(o.key(object), object.ResourceVersion)
		}
	}
	for key, rs := range o.plan.reports {
		if key.api == o.plan.layout.options.API && (key.namespace != "") == o.kind.namespaced && !found[key] {
			o.lost(rs)
		}
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (o *observer) Resync() error { return nil }

func (o *observer) key(object *metav1.PartialObjectMetadata) reportID {
	return reportID{api: o.plan.layout.options.API, reportKey: reportKey{namespace: object.Namespace, name: object.Name}}
}

// observed records a resourceVersion of a report. It is called with the mutex of the plan, as lost is.
func (e *existing) observed(key reportID, version string) {
	if !e.shards.Owns(key.namespace) {
		return
	}
	rs := e.plan.reports[key]
	if rs == nil {
		// Somebody else created it with our label. It is deleted unless the layout has it.
		rs = e.plan.stateOf(key)
		rs.unwanted, rs.cause = !e.plan.layout.has(key.reportKey), notOurs
		rs.exists = true
	}
	switch {
	case rs.busy:
		if newer(version, rs.seen) {
			rs.seen = version
		}
	case newer(version, rs.ResourceVersion):
		e.plan.recheck(rs)
		e.plan.broadcast()
	}
}

// lost records that the server no longer has a report, or that it no longer has our label.
func (e *existing) lost(rs *reportState) {
	if rs.exists || rs.busy {
		e.plan.recheck(rs)
		e.plan.broadcast()
	}
}
