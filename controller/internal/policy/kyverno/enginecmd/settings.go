// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package enginecmd

import (
	"errors"
	"net/netip"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/docket-project/docket/controller/internal/contextcache/call"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/mutation"
	"github.com/docket-project/docket/controller/internal/reach"
	"github.com/docket-project/docket/controller/internal/registry"
)

// Settings are what an engine needs to know, whether it is in this process or another one. They have no
// secrets.
type Settings struct {
	// Cluster is nil if policies are evaluated from files.
	Cluster             *Cluster `json:"cluster,omitempty"`
	ExceptionNamespaces []string `json:"exceptionNamespaces"`
	Calls               Calls    `json:"calls"`
	// Registries says whether and how image registries are asked.
	Registries Registries `json:"registry"`
}

// Cluster says how to reach a cluster: by a kubeconfig or, if that is empty, as the service account of the pod.
type Cluster struct {
	Kubeconfig string  `json:"kubeconfig"`
	Context    string  `json:"context"`
	UserAgent  string  `json:"userAgent"`
	QPS        float32 `json:"qps"`
	Burst      int     `json:"burst"`
}

// Calls are a [call.Config].
type Calls struct {
	Timeout     time.Duration  `json:"timeout"`
	MaxResponse int64          `json:"maxResponse"`
	Allow       []netip.Prefix `json:"allow"`
	Block       []netip.Prefix `json:"block"`
}

// Registries are the flags of image registries, as package manager has them.
type Registries struct {
	// Registry lets registries be asked.
	Registry          bool
	AllowInsecure     bool
	PullSecrets       []string
	CredentialHelpers []string
	// NamespacedProviders lets namespaced policies use such helpers.
	NamespacedProviders bool
	// AllowRanges are addresses that are not public, to which answers of registries and namespaced policies may lead.
	AllowRanges []string
	CacheAge    time.Duration
}

// CallsOf returns the settings for a configuration.
func CallsOf(c call.Config) Calls {
	return Calls{Timeout: c.Timeout, MaxResponse: c.MaxResponse, Allow: c.Allow, Block: c.Block}
}

func (c Calls) config() call.Config {
	return call.Config{Timeout: c.Timeout, MaxResponse: c.MaxResponse, Allow: c.Allow, Block: c.Block}
}

// config returns the configuration of the cluster.
func (c *Cluster) config() (*rest.Config, error) {
	config, err := c.load()
	if err != nil {
		return nil, err
	}
	config.UserAgent, config.QPS, config.Burst = c.UserAgent, c.QPS, c.Burst
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

func (c *Cluster) load() (*rest.Config, error) {
	if c.Kubeconfig == "" {
		return rest.InClusterConfig()
	}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: c.Kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: c.Context}).ClientConfig()
}

// Clients are those for a cluster whose resources are evaluated.
type Clients struct {
	Dynamic    dynamic.Interface
	Kubernetes kubernetes.Interface
	Discovery  discovery.CachedDiscoveryInterface
}

// NewClients returns clients that share connections.
func NewClients(config *rest.Config) (*Clients, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	out := &Clients{}
	var errs [2]error
	out.Dynamic, errs[0] = dynamic.NewForConfigAndClient(config, client)
	out.Kubernetes, errs[1] = kubernetes.NewForConfigAndClient(config, client)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	out.Discovery = memory.NewMemCacheClient(out.Kubernetes.Discovery())
	return out, nil
}

// Config returns the configuration of compilers of Kyverno's policies. Its clients ask for nothing but what policies
// may ask for; there are none if cluster is nil.
func (s *Settings) Config(cluster *rest.Config, entries policy.Entries) (base.Config, error) {
	calls := s.Calls.config()
	out := base.Config{Entries: entries, Calls: calls, ExceptionNamespaces: s.ExceptionNamespaces}
	var err error
	if out.Images, err = s.Registries.images(calls); err != nil || cluster == nil {
		return out, err
	}
	guarded, err := reach.Guarded(cluster)
	if err != nil {
		return out, err
	}
	clients, err := NewClients(guarded)
	if err != nil {
		return out, err
	}
	out.Client, out.Kubernetes = clients.Dynamic, clients.Kubernetes
	out.Mapper = restmapper.NewDeferredDiscoveryRESTMapper(clients.Discovery)
	out.Schemas = mutation.NewSchemas(clients.Kubernetes.Discovery().OpenAPIV3())
	return out, nil
}

// images returns how images are verified; nil if registries are not to be asked. Connections are made
// where calls of policies may go: anybody who may create a pod says which registry is asked.
func (r *Registries) images(calls call.Config) (*base.Images, error) {
	if !r.Registry {
		return nil, nil
	}
	allow := make([]netip.Prefix, len(r.AllowRanges))
	for i, text := range r.AllowRanges {
		var err error
		if allow[i], err = netip.ParsePrefix(text); err != nil {
			return nil, err
		}
	}
	return &base.Images{
		Registries:    registry.NewClient(registry.Config{Control: calls.Control(), Public: calls.Public(allow), Age: r.CacheAge}),
		AllowInsecure: r.AllowInsecure, PullSecrets: r.PullSecrets, CredentialHelpers: r.CredentialHelpers, NamespacedProviders: r.NamespacedProviders,
	}, nil
}
