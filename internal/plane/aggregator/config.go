// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"errors"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	coreinformers "k8s.io/client-go/informers/core/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	kubeaggregator "k8s.io/kube-aggregator/pkg/apiserver"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	informers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"
	"k8s.io/kube-aggregator/pkg/controllers/autoregister"
	generatedopenapi "k8s.io/kube-aggregator/pkg/generated/openapi"
	apiservicerest "k8s.io/kube-aggregator/pkg/registry/apiservice/rest"
)

// Config is what an aggregator is made of.
type Config struct {
	// Generic is a copy of a server's config that only the aggregator uses: serving,
	// authentication, authorization, loopback client, EffectiveVersion. New sets the rest. All
	// servers of the chain must have the same AggregatedDiscoveryGroupManager; if it is nil,
	// New makes one.
	Generic *genericapiserver.RecommendedConfig
	// Storage returns where APIServices are kept, encoded with codec as v1.
	Storage func(codec runtime.Codec) generic.RESTOptionsGetter
	// Delegate serves everything that is no group version of an extension server. It must
	// have a handler. It is nil with an Upstream.
	Delegate genericapiserver.DelegationTarget
	// Upstream is the cluster in front of which the aggregator stands; nil for none.
	Upstream *Upstream
	// Streams tracks the server's open streams; nil if nobody else has to know them.
	Streams *Streams
	// ProxyCertFile and ProxyKeyFile are the client certificate with which extension servers
	// are asked; its common name is what they trust by requestheader-allowed-names. Changed
	// files are read again.
	ProxyCertFile, ProxyKeyFile string
	// Resolver tells where services are; see NewResolver.
	Resolver Resolver
	// Services, if not nil, has servers probed at once when their Service changes. Its
	// factory is started by its owner.
	Services coreinformers.ServiceInformer
	// Self is the host:port that discovery names for groups that are served here; "" names
	// none.
	Self string
}

func (c *Config) validate() error {
	switch {
	case c.Generic == nil || c.Storage == nil || c.Resolver == nil:
		return errors.New("aggregator: Generic, Storage and Resolver must be set")
	case (c.Delegate == nil) == (c.Upstream == nil):
		return errors.New("aggregator: either Delegate or Upstream must be set")
	case c.Delegate != nil && c.Delegate.UnprotectedHandler() == nil:
		return errors.New("aggregator: Delegate must have a handler")
	case c.ProxyCertFile == "" || c.ProxyKeyFile == "":
		return errors.New("aggregator: ProxyCertFile and ProxyKeyFile must be set; extension servers trust nobody else")
	case c.Generic.EffectiveVersion == nil:
		return errors.New("aggregator: Generic.EffectiveVersion must be set")
	}
	return nil
}

// New builds an aggregator. Nothing is served and no goroutine started until it runs.
func (c *Config) New() (*Aggregator, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	registerMetrics()
	certificates, err := dynamiccertificates.NewDynamicServingContentFromFiles("docket-proxy-client", c.ProxyCertFile, c.ProxyKeyFile)
	if err != nil {
		return nil, err
	}
	if err := certificates.RunOnce(context.Background()); err != nil { // The context is not used.
		return nil, err
	}
	a := &Aggregator{
		serviceInformer: c.Services, streams: c.Streams,
		certificates: certificates, ready: make(chan struct{}),
		registry: newRegistry(newTransports(certificates.CurrentCertKeyContent), c.Resolver),
	}
	certificates.AddListener(a)
	if a.streams == nil {
		a.streams = NewStreams()
	}
	if a.client, err = clientset.NewForConfig(c.Generic.LoopbackClientConfig); err != nil {
		return nil, err
	}
	a.factory = informers.NewSharedInformerFactory(a.client, 0)
	a.informer = a.factory.Apiregistration().V1().APIServices()
	completed := c.prepare(a)
	a.locals = newLocals(autoregister.NewAutoRegisterController(a.informer, a.client.ApiregistrationV1()),
		c.Generic.AggregatedDiscoveryGroupManager, func() { a.registry.generation.Add(1) })
	a.legacy = &legacyDiscovery{registry: a.registry, locals: a.locals, self: c.Self}
	delegate := c.Delegate
	if c.Upstream != nil {
		if a.upstream, err = newUpstream(c.Upstream, a, c.Generic.AggregatedDiscoveryGroupManager); err != nil {
			return nil, err
		}
		delegate = newUpstreamDelegate(a.upstream.openAPI)
	}
	if a.Generic, err = completed.New("docket-aggregator", delegate); err != nil {
		return nil, err
	}
	a.openAPI, a.openAPIV3 = c.Generic.OpenAPIConfig, c.Generic.OpenAPIV3Config
	return a, a.install(c)
}

// prepare sets what is the aggregator's own in the config of its server.
func (c *Config) prepare(a *Aggregator) genericapiserver.CompletedConfig {
	g := c.Generic
	codec := aggregatorscheme.Codecs.LegacyCodec(apiregistration.SchemeGroupVersion)
	g.Serializer = aggregatorscheme.Codecs
	g.RESTOptionsGetter = c.Storage(codec)
	g.MergedResourceConfig = kubeaggregator.DefaultAPIResourceConfigSource()
	g.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	g.EnableDiscovery = false // Ours knows the other servers.
	g.SkipOpenAPIInstallation = true
	namer := openapinamer.NewDefinitionNamer(aggregatorscheme.Scheme)
	g.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(generatedopenapi.GetOpenAPIDefinitions, namer)
	g.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(generatedopenapi.GetOpenAPIDefinitions, namer)
	g.OpenAPIConfig.Info.Title, g.OpenAPIV3Config.Info.Title = "Docket", "Docket"
	if g.AggregatedDiscoveryGroupManager == nil {
		g.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	}
	plugins := []admission.Interface{uniqueness{a}}
	if g.AdmissionControl != nil {
		plugins = append(plugins, g.AdmissionControl)
	}
	g.AdmissionControl = admission.NewChainHandler(plugins...)
	g.LongRunningFunc = longRunning(g.LongRunningFunc)
	chain := g.BuildHandlerChainFunc
	g.BuildHandlerChainFunc = func(api http.Handler, config *genericapiserver.Config) http.Handler {
		return chain(a.route(api), config)
	}
	return g.Complete()
}

// longRunning is what has no time limit: what Kubernetes counts to it, and every upgrade,
// whatever the subresource of an extension server is called.
func longRunning(more request.LongRunningRequestCheck) request.LongRunningRequestCheck {
	basic := genericfilters.BasicLongRunningRequestCheck(sets.NewString("watch", "proxy"),
		sets.NewString("attach", "exec", "proxy", "log", "portforward"))
	return func(r *http.Request, info *request.RequestInfo) bool {
		return isUpgrade(r) || basic(r, info) || more != nil && more(r, info)
	}
}

// install adds the storage of APIServices and the paths that are served here.
func (a *Aggregator) install(c *Config) error {
	manager := a.Generic.AggregatedDiscoveryGroupManager
	group := apiservicerest.NewRESTStorage(c.Generic.MergedResourceConfig, c.Generic.RESTOptionsGetter, false)
	// The scheme knows v1beta1 as well, which the library would warn of: it is served no more.
	group.PrioritizedVersions = []schema.GroupVersion{{Group: kubeaggregator.APIRegistrationGroupVersion.Group, Version: kubeaggregator.APIRegistrationGroupVersion.Version}}
	if err := a.Generic.InstallAPIGroup(&group); err != nil {
		return err
	}
	manager.WithSource(aggregated.BuiltinSource).SetGroupVersionPriority(
		kubeaggregator.APIRegistrationGroupVersion, kubeaggregator.APIRegistrationGroupPriority, 0)
	discovery := aggregated.WrapAggregatedDiscoveryToHandler(a.legacy, manager, nil)
	paths := a.Generic.Handler.NonGoRestfulMux
	paths.Handle("/apis", discovery)
	paths.UnlistedHandle("/apis/", discovery)
	paths.HandleFunc(ServersPath, a.serveServers)
	paths.HandleFunc(healthPath, a.serveHealth)
	paths.UnlistedHandlePrefix(healthPath+"/", http.HandlerFunc(a.serveHealth))
	a.availability = newAvailability(a)
	a.proxy = newProxy(a.streams, a.availability.queue.Add)
	return a.addHooks()
}
