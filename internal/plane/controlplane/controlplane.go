// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	"k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/handler3"

	resultsv1alpha1 "github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/plane/aggregator"
	"github.com/docket-project/docket/internal/plane/core"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/bootstrap"
)

// Config of a control plane.
type Config struct {
	// Reports is the configuration of the server of reports, with authentication,
	// authorization and the listening socket, which the whole chain uses.
	Reports *apiserver.Config
	// Tokens answers TokenReviews.
	Tokens authenticator.Token
	// Rules answers SelfSubjectRulesReviews.
	Rules authorizer.RuleResolver
	// Proxy is the client certificate with which extension servers are asked.
	Proxy statedir.ProxyCertificate
	// ClientCA is the authority, in PEM, of users' certificates. Extension servers complain
	// without one, even where users have none.
	ClientCA []byte
	// Address is the host:port that discovery names for what is served here.
	Address string
}

// Server is a control plane that is about to run. Exactly one of Run and Close is to
// be called.
type Server struct {
	// Loopback is the configuration of clients in this process, who may do everything.
	Loopback *rest.Config

	config     Config
	reports    *apiserver.Server
	custom     *apiextensionsserver.CustomResourceDefinitions
	shrink     func(*handler3.OpenAPIService) // For the OpenAPI documents of custom, once they are made.
	aggregator *aggregator.Aggregator
}

// New opens the database and builds the chain. Nothing is served yet. ctx bounds the
// time that opening and migrating the database may take.
func New(ctx context.Context, config Config) (*Server, error) {
	generic := config.Reports.Generic
	generic.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	if err := config.Reports.AdmitByItself(); err != nil {
		return nil, err
	}
	checks := &owners{then: generic.AdmissionControl}
	generic.AdmissionControl = checks
	completed, err := config.Reports.Complete()
	if err != nil {
		return nil, err
	}
	reports, err := completed.NewWithDelegate(ctx, newNotFound(generic))
	if err != nil {
		return nil, err
	}
	s := &Server{Loopback: generic.LoopbackClientConfig, config: config, reports: reports}
	if err := s.chain(checks); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// chain builds the servers before that of the reports.
func (s *Server) chain(checks *owners) error {
	storage := s.reports.ObjectsGetter
	var err error
	if s.custom, s.shrink, err = newCustom(s.copyOfConfig(), storage, s.reports.Generic); err != nil {
		return fmt.Errorf("custom resources: %w", err)
	}
	small, err := s.newCore(storage)
	if err != nil {
		return fmt.Errorf("core API: %w", err)
	}
	config := s.copyOfConfig()
	config.AdmissionControl = checks.then // The aggregator adds its own.
	front := aggregator.Config{
		Generic: config, Storage: storage, Delegate: small,
		ProxyCertFile: s.config.Proxy.CertFile, ProxyKeyFile: s.config.Proxy.KeyFile,
		Resolver: aggregator.NewResolver(aggregator.ResolverConfig{Services: s.informers().Core().V1().Services().Lister()}),
		Services: s.informers().Core().V1().Services(),
		Self:     s.config.Address,
	}
	if s.aggregator, err = front.New(); err != nil {
		return fmt.Errorf("aggregator: %w", err)
	}
	admit := s.aggregator.Admission()
	checks.by.Store(&admit)
	s.aggregator.SetLocals("core", coreLocals())
	s.aggregator.SetLocals("reports", s.reportLocals())
	s.reports.OnChange(func() { s.aggregator.SetLocals("reports", s.reportLocals()) })
	s.aggregator.WatchCRDs(s.custom.Informers.Apiextensions().V1().CustomResourceDefinitions())
	return s.addHooks()
}

func (s *Server) informers() informers.SharedInformerFactory {
	return s.config.Reports.Generic.SharedInformerFactory
}

// copyOfConfig returns the configuration for one more server of the chain. What a
// server adds to its own must not be there twice.
func (s *Server) copyOfConfig() *genericapiserver.RecommendedConfig {
	c := *s.config.Reports.Generic
	c.PostStartHooks = map[string]genericapiserver.PostStartHookConfigEntry{}
	c.HealthzChecks, c.LivezChecks, c.ReadyzChecks = slices.Clone(c.HealthzChecks), slices.Clone(c.LivezChecks), slices.Clone(c.ReadyzChecks)
	c.DisabledPostStartHooks = maps.Clone(c.DisabledPostStartHooks)
	c.RESTOptionsGetter, c.OpenAPIConfig, c.OpenAPIV3Config = nil, nil, nil
	c.MergedResourceConfig = serverstorage.NewResourceConfig()
	c.SkipOpenAPIInstallation = false
	return &c
}

func (s *Server) newCore(storage func(runtime.Codec) generic.RESTOptionsGetter) (*genericapiserver.GenericAPIServer, error) {
	config := s.copyOfConfig()
	if err := core.Prepare(config); err != nil {
		return nil, err
	}
	server, err := config.Complete().New("docket-core", s.custom.GenericAPIServer)
	if err != nil {
		return nil, err
	}
	reviews := core.Reviews{Authorizer: config.Authorization.Authorizer, Rules: s.config.Rules, Tokens: s.config.Tokens}
	return server, core.Install(server, config, storage, reviews)
}

// reportLocals are the group versions of what the server of reports keeps, before those of custom resources
// of the same groups.
func (s *Server) reportLocals() []aggregator.Local {
	var locals []aggregator.Local
	for _, kind := range s.reports.Kinds() {
		local := aggregator.Local{
			GroupVersion: kind.GroupVersion(), GroupPriorityMinimum: bootstrap.GroupPriorityMinimum, VersionPriority: bootstrap.VersionPriority,
		}
		if !slices.Contains(locals, local) {
			locals = append(locals, local)
		}
	}
	if s.config.Reports.ServesResults() {
		locals = append(locals, aggregator.Local{
			GroupVersion: resultsv1alpha1.SchemeGroupVersion, GroupPriorityMinimum: bootstrap.GroupPriorityMinimum, VersionPriority: bootstrap.VersionPriority,
		})
	}
	return locals
}

// coreLocals are the group versions of Kubernetes, with the priorities that they have
// there.
func coreLocals() []aggregator.Local {
	locals := []aggregator.Local{{
		GroupVersion: apiextensionsv1.SchemeGroupVersion, GroupPriorityMinimum: 16700, VersionPriority: 15,
	}}
	for _, served := range core.GroupVersions() {
		locals = append(locals, aggregator.Local(served))
	}
	return locals
}

// Close gives back what New took, for a server that was never run.
func (s *Server) Close() error { return s.reports.Close() }
