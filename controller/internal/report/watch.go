// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// watch watches the metadata of our reports of a kind until ctx is done, to notice changes by others.
func (w *Writer) watch(ctx context.Context, k kind) {
	client := w.remote.metadata.Resource(k.gvr())
	lister := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector(w.layout.options.Instance)
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector(w.layout.options.Instance)
			return client.Watch(ctx, options)
		},
	}, w.remote.metadata)
	logger := klog.FromContext(ctx)
	cache.NewReflectorWithOptions(lister, &metav1.PartialObjectMetadata{}, &observer{writer: w, kind: k},
		cache.ReflectorOptions{Name: "reports", TypeDescription: k.resource, Logger: &logger}).RunWithContext(ctx)
}

// observer receives the reports of a kind from a reflector, and stores nothing.
type observer struct {
	writer *Writer
	kind   kind
}

var _ cache.ReflectorStore = &observer{}

// Add implements cache.ReflectorStore.
func (o *observer) Add(object any) error { return o.Update(object) }

// Update implements cache.ReflectorStore.
func (o *observer) Update(object any) error {
	if found, ok := object.(*metav1.PartialObjectMetadata); ok {
		o.writer.mu.Lock()
		defer o.writer.mu.Unlock()
		o.writer.observed(o.key(found), found.ResourceVersion)
	}
	return nil
}

// Delete implements cache.ReflectorStore. A report without our label is as good as deleted.
func (o *observer) Delete(object any) error {
	if found, ok := object.(*metav1.PartialObjectMetadata); ok {
		o.writer.mu.Lock()
		defer o.writer.mu.Unlock()
		if rs := o.writer.reports[o.key(found)]; rs != nil && rs.UID == found.UID {
			o.writer.lost(rs)
		}
	}
	return nil
}

// Replace implements cache.ReflectorStore. It is called when a watch starts again.
func (o *observer) Replace(objects []any, _ string) error {
	o.writer.mu.Lock()
	defer o.writer.mu.Unlock()
	found := make(map[reportID]bool, len(objects))
	for _, object := range objects {
		if object, ok := object.(*metav1.PartialObjectMetadata); ok {
			found[o.key(object)] = true
			o.writer.observed(o.key(object), object.ResourceVersion)
		}
	}
	for key, rs := range o.writer.reports {
		if key.api == o.writer.api && (key.namespace != "") == o.kind.namespaced && !found[key] {
			o.writer.lost(rs)
		}
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (o *observer) Resync() error { return nil }

func (o *observer) key(object *metav1.PartialObjectMetadata) reportID {
	return reportID{api: o.writer.api, reportKey: reportKey{namespace: object.Namespace, name: object.Name}}
}

// observed records a resourceVersion of a report. It is called with w.mu, as lost is.
func (w *Writer) observed(key reportID, version string) {
	if !w.shards.Owns(key.namespace) {
		return
	}
	rs := w.reports[key]
	if rs == nil {
		// Somebody else created it with our label. It is deleted unless the layout has it.
		rs = w.stateOf(key)
		rs.unwanted, rs.cause = !w.layout.has(key.reportKey), notOurs
		rs.exists = true
	}
	switch {
	case rs.busy:
		if newer(version, rs.seen) {
			rs.seen = version
		}
	case newer(version, rs.ResourceVersion):
		w.recheck(rs)
		w.broadcast()
	}
}

// lost records that the server no longer has a report, or that it no longer has our label.
func (w *Writer) lost(rs *reportState) {
	if rs.exists || rs.busy {
		w.recheck(rs)
		w.broadcast()
	}
}
