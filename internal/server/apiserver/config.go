// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	resultsv1alpha1 "github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/connections"
	"github.com/docket-project/docket/internal/reports/kinds"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/results/resultsapi"
	"github.com/docket-project/docket/internal/server/frontproxy"
	"github.com/docket-project/docket/internal/server/namespaces"
	"github.com/docket-project/docket/internal/server/registration"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/database"
)

// Limits of requests to the cluster's API server.
const (
	clusterQPS   = 50
	clusterBurst = 100
)

// informerResync is how often informers of a server's own core API look through what
// they have, as in kube-apiserver.
const informerResync = 10 * time.Minute

// Config is what a server is made of: plain values and built dependencies. The
// only thing already under way is the listening socket.
type Config struct {
	// Generic is the configuration of the library's server.
	Generic *genericapiserver.RecommendedConfig
	// APIGroups to serve.
	APIGroups []string
	// CustomResources are files and folders with definitions of further kinds.
	CustomResources []string
	// kinds returns what is served now; before there is a server, what the files say.
	kinds func() []registry.Kind
	// DatabaseURL and Database say where reports are kept.
	DatabaseURL string
	Database    database.Options
	// Store without its engine, which New opens.
	Store store.Options
	// BootstrapCAFile has the authority that /bootstrap shows; "" for none.
	BootstrapCAFile string
	// ResultRows turns the rows for SQL users on.
	ResultRows bool
	// Mappings give objects of other kinds such rows.
	Mappings *mapping.Set
	// MetricsResults are the dimensions by which the metrics count results, and MetricsResultsSeries is the largest
	// number of series.
	MetricsResults       []string
	MetricsResultsSeries int
	// RequestBytesInFlight bounds the bytes of large bodies under way.
	RequestBytesInFlight int64
	// Unmet are the admission plugins and other parts that were left out because the
	// cluster does not offer what they need.
	Unmet []Unmet
	// Registration looks how the cluster sees our groups; nil if nobody is to look.
	Registration *registration.Checker
	// Certificate is what the server makes and renews itself; nil if it does not.
	Certificate *servingCertificate
	// Sweeper deletes the reports of namespaces that ended, where the cluster has not; nil
	// if nobody is to.
	Sweeper *namespaces.Sweeper
}

// completedConfig can't be made elsewhere, so that nobody skips Complete.
type completedConfig struct {
	*Config
}

// CompletedConfig is a configuration that New accepts.
type CompletedConfig struct {
	*completedConfig
}

// Complete checks the fields that the caller had to set.
func (c *Config) Complete() (CompletedConfig, error) {
	switch {
	case c.Generic.SecureServing == nil:
		return CompletedConfig{}, errors.New("--secure-port: 0 turns HTTPS off, and there is nothing else to serve; give a port")
	case c.Generic.Authentication.Authenticator == nil:
		return CompletedConfig{}, errors.New("a server needs an authenticator")
	case c.Generic.Authorization.Authorizer == nil:
		return CompletedConfig{}, errors.New("a server needs an authorizer")
	}
	return CompletedConfig{&completedConfig{c}}, nil
}

// Config builds the configuration. With a cluster it asks the API server what it
// offers, within the time that ctx gives. It opens the listening socket, which
// belongs to the caller until the server runs.
func (o CompletedOptions) Config(ctx context.Context) (*Config, error) {
	c, err := o.newConfig()
	if err != nil {
		return nil, err
	}
	if err := o.applyServing(c); err != nil {
		return nil, err
	}
	// Before the library starts what asks this server itself, and complains that nobody answers.
	if err := c.awaitDatabase(ctx); err != nil {
		c.closeListener()
		return nil, err
	}
	if err := o.applyCluster(ctx, c); err != nil {
		c.closeListener()
		return nil, err
	}
	return c, nil
}

func (c *Config) closeListener() {
	if serving := c.Generic.SecureServing; serving != nil && serving.Listener != nil {
		// Nothing was served yet: an error on closing tells nobody anything.
		_ = serving.Listener.Close()
	}
}

// newConfig sets what depends on the options alone.
func (o CompletedOptions) newConfig() (*Config, error) {
	scheme := runtime.NewScheme()
	if err := kinds.AddUnversionedTypes(scheme); err != nil {
		return nil, err
	}
	if err := resultsv1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	generic := genericapiserver.NewRecommendedConfig(serializer.NewCodecFactory(scheme))
	if err := o.Server.ApplyTo(&generic.Config); err != nil {
		return nil, fmt.Errorf("server options: %w", err)
	}
	generic.EffectiveVersion = servedVersion{generic.EffectiveVersion}
	// Both versions: v3 is what server-side apply works with, v2 is what older
	// clients and the cluster's aggregator read.
	namer := openapinamer.NewDefinitionNamer(scheme)
	definitions := resultsapi.AddOpenAPI(generatedopenapi.GetOpenAPIDefinitions)
	generic.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	generic.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	generic.SkipOpenAPIInstallation = true // The registry publishes the documents, which may change.
	generic.OpenAPIConfig.Info.Title = "Docket"
	generic.OpenAPIV3Config.Info.Title = "Docket"
	storage := o.Storage
	mappings, err := mapping.Load(storage.ResultMappings...)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", resultMappingsFlag, err)
	}
	served, err := ReadKinds(storage.CustomResources)
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", CustomResourcesFlag, err)
	}
	served = append(registry.KindsOf(storage.APIGroups), served...)
	return &Config{
		Generic:         generic,
		APIGroups:       storage.APIGroups,
		CustomResources: storage.CustomResources,
		kinds:           func() []registry.Kind { return served },
		DatabaseURL:     storage.Database,
		Database:        storage.databaseOptions(),
		Store: store.Options{
			Database:     database.Redacted(storage.Database),
			History:      storage.WatchHistory,
			HistoryBytes: storage.WatchHistoryBytes,
			RingBytes:    storage.WatchRingBytes,
			CacheBytes:   storage.CacheBytes,
			// Without a cluster nobody would collect what foreground deletion leaves
			// for the collector.
			GarbageCollector: o.CoreAPI != nil,
		},
		ResultRows:           storage.ResultRows,
		Mappings:             mappings,
		MetricsResults:       storage.MetricsResults,
		MetricsResultsSeries: storage.MetricsResultsSeries,
		BootstrapCAFile:      o.BootstrapCAFile,
		RequestBytesInFlight: o.MaxRequestBytesInFlight,
	}, nil
}

// applyServing opens the socket and loads certificates.
func (o CompletedOptions) applyServing(c *Config) error {
	generic := &c.Generic.Config
	if o.Egress != nil {
		if err := o.Egress.ApplyTo(generic); err != nil {
			return fmt.Errorf("--egress-selector-config-file: %w", err)
		}
	}
	if err := o.Traces.ApplyTo(generic.EgressSelector, generic); err != nil {
		return fmt.Errorf("--tracing-config-file: %w", err)
	}
	if o.Certificate.on() {
		c.Certificate = &servingCertificate{}
		o.SecureServing.ServerCert.GeneratedCert = c.Certificate
	}
	// The library would replace a certificate in memory by its own.
	if o.SecureServing.ServerCert.GeneratedCert == nil {
		if err := o.SecureServing.MaybeDefaultWithSelfSignedCerts("localhost", nil, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
			return fmt.Errorf("make a self-signed certificate: %w", err)
		}
	}
	if err := o.SecureServing.ApplyToConfig(generic); err != nil {
		if generic.SecureServing == nil {
			return fmt.Errorf("serve HTTPS on --bind-address and --secure-port: %w", err)
		}
		c.closeListener()
		return fmt.Errorf("serve HTTPS with --tls-cert-file, --tls-private-key-file and the other --tls flags: %w", err)
	}
	if serving := generic.SecureServing; serving != nil {
		serving.Listener = connections.Bound(serving.Listener, connections.Most) // All may come from one kube-apiserver.
	}
	if err := o.Audit.ApplyTo(generic); err != nil {
		c.closeListener()
		return fmt.Errorf("audit: %w", err)
	}
	return nil
}

// applyCluster connects the server to its cluster; without one it only sets the
// features.
func (o CompletedOptions) applyCluster(ctx context.Context, c *Config) error {
	if o.CoreAPI == nil {
		return o.Features.ApplyTo(&c.Generic.Config, nil, nil)
	}
	if err := o.CoreAPI.ApplyTo(c.Generic); err != nil {
		if errors.Is(err, rest.ErrNotInCluster) {
			return errors.New("--kubeconfig: is required outside a cluster; give the file, or run `docket up`, which needs no cluster")
		}
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	// The library's 5 requests a second would make the questions at start take
	// seconds.
	c.Generic.ClientConfig.QPS, c.Generic.ClientConfig.Burst = clusterQPS, clusterBurst
	if err := o.applyRegistration(c); err != nil {
		return err
	}
	if err := o.applyAuth(c); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.Generic.ClientConfig)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	if err := o.applyCertificate(ctx, c, client); err != nil {
		return err
	}
	if err := o.bindCluster(ctx, c, client); err != nil {
		return err
	}
	if c.Unmet, err = o.fitTo(ctx, client); err != nil {
		return err
	}
	if err := o.applySweeper(c, client); err != nil {
		return err
	}
	if err := o.Features.ApplyTo(&c.Generic.Config, client, c.Generic.SharedInformerFactory); err != nil {
		return fmt.Errorf("--enable-priority-and-fairness: %w", err)
	}
	return o.applyAdmission(c, client)
}

// applyAuth sets who asks the cluster about users. It reads the cluster's
// extension-apiserver-authentication ConfigMap.
func (o CompletedOptions) applyAuth(c *Config) error {
	generic := &c.Generic.Config
	if o.Authentication != nil {
		if err := o.Authentication.ApplyTo(&generic.Authentication, generic.SecureServing, generic.OpenAPIConfig); err != nil {
			return fmt.Errorf("authentication by the cluster (--authentication-kubeconfig): %w", err)
		}
	}
	if o.Authorization != nil {
		if err := o.Authorization.ApplyTo(&generic.Authorization); err != nil {
			return fmt.Errorf("authorization by the cluster (--authorization-kubeconfig): %w", err)
		}
	}
	front := generic.Authentication.RequestHeaderConfig
	if front != nil {
		generic.SecureServing.ClientCA = frontproxy.Awaited(generic.SecureServing.ClientCA, front.CAContentProvider)
	}
	if front != nil && !o.AuthorizeProxied {
		generic.Authentication.Authenticator = frontproxy.Authenticator(front, generic.Authentication.Authenticator)
		generic.Authorization.Authorizer = frontproxy.Authorizer(generic.Authorization.Authorizer)
	}
	return nil
}

// AdmitByItself turns admission on for a server that serves the core API itself, as
// a part of a chain: plugins read namespaces, webhooks, policies and quotas from there.
// Informers are set up, and start with the server.
func (c *Config) AdmitByItself() error {
	c.Generic.ClientConfig = rest.CopyConfig(c.Generic.LoopbackClientConfig)
	client, err := kubernetes.NewForConfig(c.Generic.ClientConfig)
	if err != nil {
		return fmt.Errorf("client of the server itself: %w", err)
	}
	c.Generic.SharedInformerFactory = informers.NewSharedInformerFactory(client, informerResync)
	return (&Options{Admission: newAdmissionOptions()}).Complete().applyAdmission(c, client)
}

func (o CompletedOptions) applyAdmission(c *Config, client kubernetes.Interface) error {
	if o.Admission == nil {
		return nil
	}
	dynamicClient, err := dynamic.NewForConfig(c.Generic.ClientConfig)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	generic := &c.Generic.Config
	if err := o.Admission.ApplyTo(generic, c.Generic.SharedInformerFactory, client, dynamicClient,
		generic.FeatureGate, generic.EffectiveVersion, quotaInitializer{}); err != nil {
		return fmt.Errorf("--admission-control-config-file, --enable-admission-plugins: %w", err)
	}
	return nil
}
