// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"reflect"
	"sync"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
)

// remoteDiscovery keeps the entries of extension servers in the aggregated discovery
// document. They go before those of other sources for the same group version.
type remoteDiscovery struct {
	manager aggregated.ResourceManager

	mu      sync.Mutex
	entries map[schema.GroupVersion]entry
}

type entry struct {
	version       apidiscovery.APIVersionDiscovery
	groupPriority int32
	priority      int32
}

func newRemoteDiscovery(manager aggregated.ResourceManager) *remoteDiscovery {
	return &remoteDiscovery{manager: manager.WithSource(aggregated.AggregatorSource), entries: map[schema.GroupVersion]entry{}}
}

// register makes sure that a group version is listed, be it without resources for now.
func (d *remoteDiscovery) register(b *backend) {
	d.mu.Lock()
	_, known := d.entries[b.groupVersion()]
	d.mu.Unlock()
	if !known {
		d.set(b, nil, apidiscovery.DiscoveryFreshnessStale)
	}
}

// publish lists resources of a server.
func (d *remoteDiscovery) publish(b *backend, list []metav1.APIResource) error {
	resources, err := endpoints.ConvertGroupVersionIntoToDiscovery(list)
	if err != nil {
		return err
	}
	d.set(b, resources, apidiscovery.DiscoveryFreshnessCurrent)
	return nil
}

// stale marks what is listed of a server as possibly out of date.
func (d *remoteDiscovery) stale(b *backend) {
	d.mu.Lock()
	resources := d.entries[b.groupVersion()].version.Resources
	d.mu.Unlock()
	d.set(b, resources, apidiscovery.DiscoveryFreshnessStale)
}

// set touches the document only if something changed: it is serialized again each time.
func (d *remoteDiscovery) set(b *backend, resources []apidiscovery.APIResourceDiscovery, freshness apidiscovery.DiscoveryFreshness) {
	gv, spec := b.groupVersion(), b.service.Spec
	next := entry{
		version:       apidiscovery.APIVersionDiscovery{Version: gv.Version, Resources: resources, Freshness: freshness},
		groupPriority: spec.GroupPriorityMinimum, priority: spec.VersionPriority,
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	old, known := d.entries[gv]
	if known && reflect.DeepEqual(old, next) {
		return
	}
	d.entries[gv] = next
	d.manager.AddGroupVersion(gv.Group, next.version)
	d.manager.SetGroupVersionPriority(metav1.GroupVersion(gv), int(next.groupPriority), int(next.priority))
}

func (d *remoteDiscovery) remove(gv schema.GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, known := d.entries[gv]; known {
		delete(d.entries, gv)
		d.manager.RemoveGroupVersion(metav1.GroupVersion(gv))
	}
}
