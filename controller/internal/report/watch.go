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

// watch follows the metadata of our reports of a kind until ctx ends, to notice what others
// change.
func (w *Writer) watch(ctx context.Context, k kind) {
	client := w.remote.metadata.Resource(k.gvr())
	lister := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = Selector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = Selector
			return client.Watch(ctx, options)
		},
	}, w.remote.metadata)
	logger := klog.FromContext(ctx)
	cache.NewReflectorWithOptions(lister, &metav1.PartialObjectMetadata{}, &observer{writer: w, kind: k},
		cache.ReflectorOptions{Name: "reports", TypeDescription: k.resource, Logger: &logger}).RunWithContext(ctx)
}

// observer takes what a reflector says of the reports of a kind and keeps nothing.
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
		o.writer.noticed(o.key(found), found.ResourceVersion)
	}
	return nil
}

// Delete implements cache.ReflectorStore. A report without our label is as good as deleted.
func (o *observer) Delete(object any) error {
	if found, ok := object.(*metav1.PartialObjectMetadata); ok {
		o.writer.mu.Lock()
		defer o.writer.mu.Unlock()
		if e := o.writer.entries[o.key(found)]; e != nil && e.UID == found.UID {
			o.writer.missed(e)
		}
	}
	return nil
}

// Replace implements cache.ReflectorStore. It is called when a watch starts again.
func (o *observer) Replace(objects []any, _ string) error {
	o.writer.mu.Lock()
	defer o.writer.mu.Unlock()
	found := make(map[entryKey]bool, len(objects))
	for _, object := range objects {
		if object, ok := object.(*metav1.PartialObjectMetadata); ok {
			found[o.key(object)] = true
			o.writer.noticed(o.key(object), object.ResourceVersion)
		}
	}
	for key, e := range o.writer.entries {
		if key.api == o.writer.api && (key.namespace != "") == o.kind.namespaced && !found[key] {
			o.writer.missed(e)
		}
	}
	return nil
}

// Resync implements cache.ReflectorStore.
func (o *observer) Resync() error { return nil }

func (o *observer) key(object *metav1.PartialObjectMetadata) entryKey {
	return entryKey{api: o.writer.api, reportKey: reportKey{namespace: object.Namespace, name: object.Name}}
}

// noticed takes a version of a report that the server has. Called with w.mu, as missed.
func (w *Writer) noticed(key entryKey, version string) {
	e := w.entries[key]
	if e == nil {
		// Somebody made it, with our label: what the layout does not have goes.
		e = w.entryFor(key)
		e.unwanted, e.cause = !w.layout.has(key.reportKey), notOurs
		e.exists = true
	}
	switch {
	case e.busy:
		if newer(version, e.seen) {
			e.seen = version
		}
	case newer(version, e.ResourceVersion):
		w.suspectNow(e)
		w.broadcast()
	}
}

// missed takes that the server does not have a report any more, or not with our label.
func (w *Writer) missed(e *entry) {
	if e.exists || e.busy {
		w.suspectNow(e)
		w.broadcast()
	}
}
