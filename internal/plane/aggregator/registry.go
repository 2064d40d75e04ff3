// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"net/url"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
)

// defaultPort applies to a service reference without a port.
const defaultPort = 443

// backend is a registered extension server for one group version. It is never changed.
type backend struct {
	service *apiregistration.APIService
	// available is the condition Available; message says why it is not.
	available bool
	message   string
	// endpoint comes from the annotation; if it is nil, ask the resolver.
	endpoint *url.URL
	// err tells why the server can't be asked at all.
	err       error
	transport *backendTransport
	resolver  Resolver
}

func (b *backend) name() string { return b.service.Name }

func (b *backend) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: b.service.Spec.Group, Version: b.service.Spec.Version}
}

// path is what the server has to serve, and what is proxied to it.
func (b *backend) path() string { return "/apis/" + b.groupVersion().String() }

// address returns where the server is.
func (b *backend) address() (*url.URL, error) {
	if b.err != nil {
		return nil, b.err
	}
	if b.endpoint != nil {
		return b.endpoint, nil
	}
	service := b.service.Spec.Service
	port := int32(defaultPort)
	if service.Port != nil {
		port = *service.Port
	}
	return b.resolver.ResolveEndpoint(service.Namespace, service.Name, port)
}

// registry is what APIService objects say, in the form that requests need. Readers take no
// lock.
type registry struct {
	transports *transports
	resolver   Resolver

	mu        sync.Mutex
	services  map[string]*apiregistration.APIService // By name.
	addresses map[string]string                      // host:port of extension servers, by name of their APIService.

	remote atomic.Pointer[map[string]*backend] // By "group/version".
	// generation counts changes of what discovery shows.
	generation atomic.Uint64
}

func newRegistry(transports *transports, resolver Resolver) *registry {
	r := &registry{transports: transports, resolver: resolver, services: map[string]*apiregistration.APIService{}, addresses: map[string]string{}}
	r.remote.Store(&map[string]*backend{})
	return r
}

// find returns the extension server of "group/version", or nil.
func (r *registry) find(groupVersion string) *backend { return (*r.remote.Load())[groupVersion] }

// named returns the extension server of an APIService, or nil.
func (r *registry) named(apiService string) *backend {
	return r.find(helper.APIServiceNameToGroupVersion(apiService).String())
}

// set takes over an APIService as it is now.
func (r *registry) set(service *apiregistration.APIService) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.services[service.Name] = service
	r.changeLocked(service.Spec.Group+"/"+service.Spec.Version, r.build(service))
}

func (r *registry) remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.services, name)
	delete(r.addresses, name)
	r.changeLocked(helper.APIServiceNameToGroupVersion(name).String(), nil)
}

// rebuild replaces all transports by those with another client certificate.
func (r *registry) rebuild() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, service := range r.services {
		if b := r.build(service); b != nil {
			r.changeLocked(b.groupVersion().String(), b)
		}
	}
}

// changeLocked replaces the backend of a group version with b. A nil b removes it.
func (r *registry) changeLocked(groupVersion string, b *backend) {
	r.generation.Add(1)
	old := *r.remote.Load()
	if b == nil && old[groupVersion] == nil {
		return
	}
	remote := make(map[string]*backend, len(old)+1)
	for k, v := range old {
		remote[k] = v
	}
	if b == nil {
		delete(remote, groupVersion)
	} else {
		remote[groupVersion] = b
	}
	r.remote.Store(&remote)
}

// build returns nil for what this process serves itself.
func (r *registry) build(service *apiregistration.APIService) *backend {
	if service.Spec.Service == nil || service.Spec.Group == "" {
		return nil
	}
	b := &backend{service: service, resolver: r.resolver}
	condition := helper.GetAPIServiceConditionByType(service, apiregistration.Available)
	switch {
	case condition == nil:
		b.message = "it has not been checked yet"
	case condition.Status == apiregistration.ConditionTrue:
		b.available = true
	default:
		b.message = condition.Reason + ": " + condition.Message
	}
	b.endpoint, b.err = endpointOf(service)
	if b.err == nil {
		b.transport, b.err = r.transports.forService(service)
	}
	if b.endpoint != nil {
		r.addresses[service.Name] = b.endpoint.Host
	}
	return b
}

// located remembers where the server of an APIService was found, for discovery.
func (r *registry) located(name, address string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.services[name] != nil && r.addresses[name] != address {
		r.addresses[name] = address
		r.generation.Add(1)
	}
}

// addressOf returns where the server of an APIService was found, "" if nowhere yet.
func (r *registry) addressOf(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addresses[name]
}

// all returns every APIService, local ones too, in no order.
func (r *registry) all() []*apiregistration.APIService {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*apiregistration.APIService, 0, len(r.services))
	for _, service := range r.services {
		list = append(list, service)
	}
	return list
}

// backends returns all extension servers, in no order.
func (r *registry) backends() []*backend {
	remote := *r.remote.Load()
	list := make([]*backend, 0, len(remote))
	for _, b := range remote {
		list = append(list, b)
	}
	return list
}
