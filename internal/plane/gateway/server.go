// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/connections"
	"github.com/docket-project/docket/internal/plane/aggregator"
	"github.com/docket-project/docket/internal/plane/authtrust"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/server/bootstrap"
	"github.com/docket-project/docket/internal/server/bootstrap/handler"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/database"
	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// http2Streams is the number of concurrent requests a connection, as of kube-apiserver. Clients with
	// more watches open another connection.
	http2Streams = 250
	// connectTimeout is how long to wait at start for a database that doesn't answer.
	connectTimeout = 20 * time.Second
	// Memory for APIServices, of which there are few.
	ringBytes  = 8 << 20
	cacheBytes = 8 << 20
)

// Identity is where a gateway listens, and what proves who it is.
type Identity struct {
	*statedir.Endpoint
	// CA signed Serving.
	CA *certificate.Pair
	// Serving is the certificate that clients see.
	Serving dynamiccertificates.CertKeyContentProvider
	// Proxy is the certificate that extension servers see.
	Proxy *statedir.ProxyCertificate
	// Token is the owner's, in the profile single-user.
	Token string
}

// Config of a gateway.
type Config struct {
	Identity Identity
	// Cluster has the gateway's own credentials for the cluster: in the profile
	// single-user those of its owner.
	Cluster *rest.Config
	// Profile is one of Profiles.
	Profile string
	// Delegated has the profile token use TokenReview and SubjectAccessReview.
	Delegated bool
	// Groups are those that the profile impersonate passes on.
	Groups []string
	// ClientCA has the authorities of client certificates; nil for none. Only for the
	// profile impersonate.
	ClientCA dynamiccertificates.CAContentProvider
	// DatabaseURL and Database say where registrations are kept.
	DatabaseURL string
	Database    database.Options
	// DiscoveryInterval and NamespaceInterval are the times between two looks at what the
	// cluster serves, and at which namespaces ended.
	DiscoveryInterval, NamespaceInterval time.Duration
	// Services maps namespace/name to https://host:port; see aggregator.ReadTable.
	Services map[string]string
	Clock    clock.WithTicker
}

// Server is a gateway that is about to run. Exactly one of Run and Close is to be
// called.
type Server struct {
	// Loopback is the configuration of clients in this process, who may do everything.
	Loopback *rest.Config

	engine  engine.Engine
	store   *store.Store
	front   *aggregator.Aggregator
	streams *aggregator.Streams
	sweep   *sweeper

	succession *succession
}

// New opens the database and builds the gateway. Nothing is served and the cluster is not
// asked yet. ctx bounds the time that opening and migrating the database may take.
func New(ctx context.Context, c Config) (*Server, error) {
	registerMetrics()
	generic, err := c.generic()
	if err != nil {
		return nil, err
	}
	opened, err := database.Open(ctx, c.DatabaseURL, c.Database)
	if err != nil {
		return nil, fmt.Errorf("--database: %w", err)
	}
	s := &Server{Loopback: generic.LoopbackClientConfig, engine: opened, streams: aggregator.NewStreams()}
	if s.store, err = store.New(ctx, store.Options{
		Engine: opened, Database: database.Redacted(c.DatabaseURL), RingBytes: ringBytes, CacheBytes: cacheBytes, Clock: c.Clock,
	}); err == nil {
		err = s.build(c, generic)
	}
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return s, nil
}

// generic returns the configuration of the library's server.
func (c *Config) generic() (*genericapiserver.RecommendedConfig, error) {
	generic := genericapiserver.NewRecommendedConfig(aggregatorscheme.Codecs)
	if err := genericoptions.NewServerRunOptions().ApplyTo(&generic.Config); err != nil {
		return nil, fmt.Errorf("server options: %w", err)
	}
	generic.EnableProfiling, generic.EnableIndex = false, false
	serving := genericoptions.NewSecureServingOptions().WithLoopback()
	serving.Listener = connections.Bound(c.Identity.Listener, connections.Most)
	serving.ServerCert.GeneratedCert = c.Identity.Serving
	serving.HTTP2MaxStreamsPerConnection = http2Streams
	if err := serving.ApplyToConfig(&generic.Config); err != nil {
		return nil, fmt.Errorf("serve HTTPS: %w", err)
	}
	generic.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	// Certificates are requested in every profile: a client that has nothing else must be told why
	// that is not enough, instead of being treated as anonymous.
	generic.SecureServing.ClientCA = c.ClientCA
	if c.ClientCA == nil {
		generic.SecureServing.ClientCA = anyAuthority{}
	}
	return generic, nil
}

// profile returns the profile that the configuration names.
func (c *Config) profile() (profile, error) {
	switch c.Profile {
	case ProfileSingleUser:
		return newSingle(c.Identity.Token, c.Cluster)
	case ProfileToken:
		return newTokens(c.Cluster, c.Delegated)
	case ProfileImpersonate:
		var verify x509.VerifyOptionFunc
		if c.ClientCA != nil {
			verify = c.ClientCA.VerifyOptions
		}
		return newImpersonator(c.Cluster, c.Groups, verify)
	}
	return nil, fmt.Errorf("--profile: %q is unknown; give one of %s", c.Profile, strings.Join(Profiles(), ", "))
}

// build puts the parts together.
func (s *Server) build(c Config, generic *genericapiserver.RecommendedConfig) error {
	who, err := c.profile()
	if err != nil {
		return err
	}
	generic.Authentication.Authenticator = newAuthenticator()
	if generic.Authorization.Authorizer, err = newAuthorizer(who); err != nil {
		return err
	}
	cluster, err := s.cluster(c, who)
	if err != nil {
		return err
	}
	if err := s.newSweepers(c); err != nil {
		return err
	}
	generic.AddReadyzChecks(
		healthz.NamedCheck("cluster", func(r *http.Request) error { return s.front.UpstreamReady(r.Context()) }),
		healthz.NamedCheck("docket-store", func(r *http.Request) error { return s.store.Ready(r.Context()) }),
	)
	generic.BuildHandlerChainFunc = func(api http.Handler, config *genericapiserver.Config) http.Handler {
		return connections.Count(newRouter(router{
			owner: s.owner, profile: who, cluster: cluster, loopback: s.Loopback.BearerToken, loaded: s.loaded,
			own: genericapiserver.DefaultBuildHandlerChain(s.succession.wrap(api, who, s.owner), config),
		}, config.RequestInfoResolver))
	}
	s.front, err = (&aggregator.Config{
		Generic: generic, Storage: s.store.ObjectsGetter,
		Upstream:      &aggregator.Upstream{Config: c.Cluster, Interval: c.DiscoveryInterval, Clock: c.Clock},
		Streams:       s.streams,
		ProxyCertFile: c.Identity.Proxy.CertFile, ProxyKeyFile: c.Identity.Proxy.KeyFile,
		Resolver: aggregator.NewResolver(aggregator.ResolverConfig{Table: c.Services}),
		Self:     strings.TrimPrefix(c.Identity.URL, "https://"),
	}).New()
	if err != nil {
		return fmt.Errorf("aggregator: %w", err)
	}
	handler.Install(s.front.Generic.Handler.NonGoRestfulMux, bootstrap.NewParameters, nil, s.front.Generic.Serializer)
	return nil
}

// cluster returns the handler of everything that is not the gateway's.
func (s *Server) cluster(c Config, who profile) (http.Handler, error) {
	upstream, err := aggregator.NewUpstreamProxy(who.upstream(), s.streams)
	if err != nil {
		return nil, err
	}
	proxy := pass(who, upstream)
	owner, ok := who.(*single)
	if !ok {
		return proxy, nil
	}
	trusted, err := newTrust(authtrust.Trust{
		ProxyCA: c.Identity.Proxy.CA.CertificatePEM, ProxyNames: []string{c.Identity.Proxy.CommonName},
		ClientCA: c.Identity.CA.CertificatePEM, // It signs no client's; servers complain without one.
	}, s.streams)
	if err != nil {
		return nil, err
	}
	return &reviews{single: owner, trust: trusted, next: proxy}, nil
}

// pass hands requests to the cluster, in the name of whom the profile says.
func pass(who profile, upstream *aggregator.UpstreamProxy) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		change, err := who.pass(r)
		if err != nil {
			fail(w, r, err)
			return
		}
		upstream.Serve(w, r, change)
	})
}

// newSweepers makes what deletes objects whose namespace ended.
func (s *Server) newSweepers(c Config) error {
	cluster, err := kubernetes.NewForConfig(unlimited(c.Cluster))
	if err != nil {
		return fmt.Errorf("client of the cluster: %w", err)
	}
	content, err := s.newContent()
	if err != nil {
		return err
	}
	s.succession = newSuccession(newNamespaceUIDs(s.store), content)
	s.sweep = &sweeper{cluster: cluster, content: content, succession: s.succession, interval: c.NamespaceInterval, clock: c.Clock}
	return nil
}

func (s *Server) newContent() (*content, error) {
	own, err := metadata.NewForConfig(unlimited(s.Loopback))
	if err != nil {
		return nil, fmt.Errorf("client of the gateway itself: %w", err)
	}
	registered, err := clientset.NewForConfig(unlimited(s.Loopback))
	if err != nil {
		return nil, fmt.Errorf("client of the gateway itself: %w", err)
	}
	return &content{own: own, services: registered.ApiregistrationV1().APIServices(), discovery: registered.Discovery()}, nil
}

func unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS = -1
	return config
}

func (s *Server) owner(gv schema.GroupVersion) (string, bool, bool) { return s.front.Owner(gv) }

// loaded reports whether all registrations are known.
func (s *Server) loaded() bool {
	for _, done := range s.front.Generic.MuxAndDiscoveryCompleteSignals() {
		select {
		case <-done:
		default:
			return false
		}
	}
	return true
}

// Run serves until ctx ends or something fails, ends streams, lets requests under way
// finish, and closes the database.
func (s *Server) Run(ctx context.Context) error {
	prepared, err := s.front.PrepareRun()
	if err != nil {
		return errors.Join(err, s.Close())
	}
	// The store outlives the HTTPS server, which still serves after ctx ended.
	storeCtx, stopStore := context.WithCancel(context.WithoutCancel(ctx))
	defer stopStore()
	ctx, stopServing := context.WithCancel(ctx)
	defer stopServing()
	var group errgroup.Group
	group.Go(func() error {
		defer stopServing()
		if err := s.store.Run(storeCtx); err != nil && storeCtx.Err() == nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		defer stopStore()
		return s.serve(ctx, prepared)
	})
	return errors.Join(group.Wait(), s.engine.Close())
}

// serve runs the HTTPS server and what works beside it.
func (s *Server) serve(ctx context.Context, prepared aggregator.Prepared) error {
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, s.streams.End)()
	group.Go(func() error {
		if err := prepared.RunWithContext(ctx); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	group.Go(func() error { s.sweep.run(ctx); return nil })
	return group.Wait()
}

// Close gives back what New took, for a server that was never run.
func (s *Server) Close() error {
	s.front.Generic.Destroy()
	return s.engine.Close()
}
