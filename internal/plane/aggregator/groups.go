// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"net/http"
	"sync"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
)

const anyClient = "0.0.0.0/0"

// groups is the legacy form of discovery as of one generation of the registry.
type groups struct {
	generation uint64
	list       *metav1.APIGroupList
	byName     map[string]*metav1.APIGroup
}

// legacyDiscovery serves /apis and /apis/<group> in the form without resources. It is made
// from memory, when something changed.
type legacyDiscovery struct {
	registry *registry
	locals   *locals
	self     string

	making sync.Mutex
	cached atomic.Pointer[groups]
}

// ServeHTTP serves /apis.
func (d *legacyDiscovery) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	list := *d.current().list // Encoding sets the kind.
	responsewriters.WriteObjectNegotiated(aggregatorscheme.Codecs, negotiation.DefaultEndpointRestrictions,
		schema.GroupVersion{}, w, r, http.StatusOK, &list, false)
}

// serveGroup serves /apis/<group>, and reports whether there is such a group.
func (d *legacyDiscovery) serveGroup(w http.ResponseWriter, r *http.Request, name string) bool {
	known := d.current().byName[name]
	if known == nil {
		return false
	}
	group := *known
	responsewriters.WriteObjectNegotiated(aggregatorscheme.Codecs, negotiation.DefaultEndpointRestrictions,
		schema.GroupVersion{}, w, r, http.StatusOK, &group, false)
	return true
}

func (d *legacyDiscovery) current() *groups {
	if g := d.cached.Load(); g != nil && g.generation == d.registry.generation.Load() {
		return g
	}
	d.making.Lock()
	defer d.making.Unlock()
	generation := d.registry.generation.Load()
	if g := d.cached.Load(); g != nil && g.generation == generation {
		return g
	}
	g := d.build(generation)
	d.cached.Store(g)
	return g
}

func (d *legacyDiscovery) build(generation uint64) *groups {
	own := metav1.APIGroup{Name: apiregistration.GroupName, Versions: []metav1.GroupVersionForDiscovery{versionOf(apiregistration.SchemeGroupVersion)}}
	own.PreferredVersion = own.Versions[0]
	own.ServerAddressByClientCIDRs = at(d.self)
	g := &groups{generation: generation, list: &metav1.APIGroupList{Groups: []metav1.APIGroup{own}}}
	for _, services := range helper.SortedByGroupAndVersion(d.services()) {
		preferred := services[0]
		if preferred.Spec.Group == "" || preferred.Spec.Group == apiregistration.GroupName {
			continue
		}
		group := metav1.APIGroup{Name: preferred.Spec.Group}
		for _, service := range services {
			group.Versions = append(group.Versions, versionOf(schema.GroupVersion{Group: service.Spec.Group, Version: service.Spec.Version}))
		}
		group.PreferredVersion = group.Versions[0]
		address := d.self
		if preferred.Spec.Service != nil {
			address = d.registry.addressOf(preferred.Name)
		}
		group.ServerAddressByClientCIDRs = at(address)
		g.list.Groups = append(g.list.Groups, group)
	}
	g.byName = make(map[string]*metav1.APIGroup, len(g.list.Groups))
	for i := range g.list.Groups {
		g.byName[g.list.Groups[i].Name] = &g.list.Groups[i]
	}
	return g
}

// services are those that are registered and those that will be in a moment.
func (d *legacyDiscovery) services() []*apiregistration.APIService {
	list := d.registry.all()
	known := make(map[string]bool, len(list))
	for _, service := range list {
		known[service.Name] = true
	}
	for _, service := range d.locals.services() {
		if !known[service.Name] {
			list = append(list, service)
		}
	}
	return list
}

func versionOf(gv schema.GroupVersion) metav1.GroupVersionForDiscovery {
	return metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
}

func at(address string) []metav1.ServerAddressByClientCIDR {
	if address == "" {
		return nil
	}
	return []metav1.ServerAddressByClientCIDR{{ClientCIDR: anyClient, ServerAddress: address}}
}
