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

// discoverySource keeps what one source serves in the aggregated discovery document. For the same
// group version, extension servers go before all other sources.
type discoverySource struct {
	manager aggregated.ResourceManager

	mu      sync.Mutex
	entries map[schema.GroupVersion]entry
}

type entry struct {
	version       apidiscovery.APIVersionDiscovery
	groupPriority int32
	priority      int32
}

func newDiscoverySource(manager aggregated.ResourceManager, source aggregated.Source) *discoverySource {
	return &discoverySource{manager: manager.WithSource(source), entries: map[schema.GroupVersion]entry{}}
}

// register makes sure that a group version is listed, be it without resources for now.
func (d *discoverySource) register(b *backend) {
	d.mu.Lock()
	_, known := d.entries[b.groupVersion()]
	d.mu.Unlock()
	if !known {
		d.set(b, nil, apidiscovery.DiscoveryFreshnessStale)
	}
}

// publish lists resources of a server.
func (d *discoverySource) publish(b *backend, list []metav1.APIResource) error {
	resources, err := endpoints.ConvertGroupVersionIntoToDiscovery(list)
	if err != nil {
		return err
	}
	d.set(b, resources, apidiscovery.DiscoveryFreshnessCurrent)
	return nil
}

// stale marks what is listed of a server as possibly out of date.
func (d *discoverySource) stale(b *backend) {
	d.mu.Lock()
	resources := d.entries[b.groupVersion()].version.Resources
	d.mu.Unlock()
	d.set(b, resources, apidiscovery.DiscoveryFreshnessStale)
}

// set lists resources of an extension server.
func (d *discoverySource) set(b *backend, resources []apidiscovery.APIResourceDiscovery, freshness apidiscovery.DiscoveryFreshness) {
	gv, spec := b.groupVersion(), b.service.Spec
	d.mu.Lock()
	defer d.mu.Unlock()
	d.setLocked(gv, entry{
		version:       apidiscovery.APIVersionDiscovery{Version: gv.Version, Resources: resources, Freshness: freshness},
		groupPriority: spec.GroupPriorityMinimum, priority: spec.VersionPriority,
	})
}

// replace lists what is served now, and nothing else.
func (d *discoverySource) replace(served map[schema.GroupVersion]entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for gv := range d.entries {
		if _, kept := served[gv]; !kept {
			d.removeLocked(gv)
		}
	}
	for gv, next := range served {
		d.setLocked(gv, next)
	}
}

func (d *discoverySource) remove(gv schema.GroupVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.removeLocked(gv)
}

// setLocked touches the document only if something changed: it is serialized again each time.
func (d *discoverySource) setLocked(gv schema.GroupVersion, next entry) {
	old, known := d.entries[gv]
	if known && reflect.DeepEqual(old, next) {
		return
	}
	d.entries[gv] = next
	d.manager.AddGroupVersion(gv.Group, next.version)
	d.manager.SetGroupVersionPriority(metav1.GroupVersion(gv), int(next.groupPriority), int(next.priority))
}

func (d *discoverySource) removeLocked(gv schema.GroupVersion) {
	if _, known := d.entries[gv]; known {
		delete(d.entries, gv)
		d.manager.RemoveGroupVersion(metav1.GroupVersion(gv))
	}
}
