// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"cmp"
	"context"
	"slices"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions/apiextensions/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const crdSource = "crds"

// crds keeps locals in step with CustomResourceDefinitions.
type crds struct {
	informer apiextensionsinformers.CustomResourceDefinitionInformer
	locals   *locals
	// queue has one key: all definitions are read whenever one changed.
	queue workqueue.TypedRateLimitingInterface[string]
}

// WatchCRDs keeps locals in step with established CustomResourceDefinitions from Run on. The
// informer is started by its owner. It is to be called before Run.
func (a *Aggregator) WatchCRDs(informer apiextensionsinformers.CustomResourceDefinitionInformer) {
	a.crds = &crds{
		informer: informer, locals: a.locals,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	informer.Informer() // Asked for here, so that the factory's owner starts it.
}

// run calls synced when the definitions that there were at first are known.
func (c *crds) run(ctx context.Context, synced func()) {
	enqueue := func(any) { c.queue.Add(crdSource) }
	registration, err := c.informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, DeleteFunc: enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
	})
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "CustomResourceDefinitions can't be watched")
		return
	}
	defer func() { _ = c.informer.Informer().RemoveEventHandler(registration) }() // It was added.
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		c.queue.ShutDown()
		return
	}
	c.sync(ctx)
	synced()
	work(ctx, c.queue, 1, func(ctx context.Context, _ string) { c.sync(ctx) })
}

func (c *crds) sync(ctx context.Context) {
	list, err := c.informer.Lister().List(labels.Everything())
	if err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "CustomResourceDefinitions can't be listed")
		return
	}
	c.locals.set(crdSource, localsOf(list))
}

// localsOf returns the group versions of definitions that are served.
func localsOf(list []*apiextensions.CustomResourceDefinition) []ownedLocal {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *apiextensions.CustomResourceDefinition) int { return cmp.Compare(a.Name, b.Name) })
	var served []ownedLocal
	seen := map[schema.GroupVersion]bool{}
	for _, definition := range list {
		if !established(definition) {
			continue
		}
		for _, version := range definition.Spec.Versions {
			gv := schema.GroupVersion{Group: definition.Spec.Group, Version: version.Name}
			if version.Served && !seen[gv] {
				seen[gv] = true
				served = append(served, ownedLocal{Local: Local{GroupVersion: gv}, owner: "CustomResourceDefinition " + definition.Name})
			}
		}
	}
	return served
}

func established(definition *apiextensions.CustomResourceDefinition) bool {
	return slices.ContainsFunc(definition.Status.Conditions, func(c apiextensions.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensions.Established && c.Status == apiextensions.ConditionTrue
	})
}
