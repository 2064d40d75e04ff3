// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericregistry "k8s.io/apiserver/pkg/registry/generic"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/results"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/results/resultmetrics"
	"github.com/docket-project/docket/internal/results/resultsapi"
	"github.com/docket-project/docket/internal/server/bootstrap/handler"
	"github.com/docket-project/docket/internal/server/namespaces"
	"github.com/docket-project/docket/internal/server/registration"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/database"
	"github.com/docket-project/docket/internal/store/engine"
)

// errServerEnded and errStoreEnded are the causes with which one half of the
// server tells the other to stop.
var (
	errServerEnded = errors.New("the HTTPS server has ended")
	errStoreEnded  = errors.New("the store has ended")
)

// Server is a server with its database open. Exactly one of Run and Close is to
// be called.
type Server struct {
	// Generic is the library's server.
	Generic *genericapiserver.GenericAPIServer
	// Store keeps the reports; nil when they are in etcd.
	Store *store.Store

	backend backend
	// holds is nil when reports are in etcd.
	holds  *holds
	custom *customResources
	// mapped is nil without rows of results.
	mapped *mappedRows
	// registration is nil without a cluster.
	registration *registration.Checker
	// certificate is nil if somebody else renews it.
	certificate *servingCertificate
	// sweeper is nil without a cluster, or without the right to watch its namespaces.
	sweeper *namespaces.Sweeper
	// results counts results for metrics; nil without rows of them.
	results *resultmetrics.Reader
}

// New opens the database and installs the API groups. Nothing is served yet. ctx
// bounds the time that opening and migrating the database may take.
func (c CompletedConfig) New(ctx context.Context) (*Server, error) {
	return c.NewWithDelegate(ctx, genericapiserver.NewEmptyDelegate())
}

// NewWithDelegate is New for a server that is a part of a chain: what it doesn't serve
// goes on to delegate.
func (c CompletedConfig) NewWithDelegate(ctx context.Context, delegate genericapiserver.DelegationTarget) (*Server, error) {
	registerMetrics()
	opened, err := c.openBackend(ctx)
	if err != nil {
		return nil, err
	}
	server, err := c.newOn(ctx, opened, delegate)
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	klog.InfoS("Opened the database", "url", database.Redacted(c.DatabaseURL), "cluster", c.Database.Cluster)
	return server, nil
}

func (c CompletedConfig) newOn(ctx context.Context, opened backend, delegate genericapiserver.DelegationTarget) (*Server, error) {
	c.Generic.RESTOptionsGetter = countedObjects{opened.RESTOptionsGetter(), c.Generic.StorageObjectCountTracker}
	c.Generic.AddReadyzChecks(newStoreCheck(opened.Ready))
	if c.Certificate != nil {
		c.Generic.AddReadyzChecks(c.Certificate.check())
	}
	var served *registry.Server
	held := c.obeyHolds(storeOf(opened), func() []string { return served.Groups() })
	c.buildChain(held)
	generic, err := c.Generic.Complete().New("docket", delegate)
	if err != nil {
		return nil, err
	}
	kinds := func() []mapping.Kind { return c.resultKinds(served.Groups()) }
	if err := c.installResults(generic, opened, kinds); err != nil {
		return nil, err
	}
	served = registry.NewServer(generic, &c.Generic.Config, c.storage(opened))
	custom := newCustomResources(c.CustomResources, registry.KindsOf(c.APIGroups), served, storeOf(opened))
	var wishes *store.Resource
	if custom.stored != nil && !database.IsFile(c.DatabaseURL) {
		wishes = ownResource(storeOf(opened), "wishes")
	}
	custom.agreement = newAgreement(wishes, ofDefinitions)
	if err := custom.start(ctx); err != nil {
		return nil, fmt.Errorf("--%s: %w", CustomResourcesFlag, err)
	}
	if err := generic.AddReadyzChecks(custom.ready()); err != nil {
		return nil, err
	}
	c.kinds = served.Kinds
	var mapped *mappedRows
	if custom.stored != nil && c.ResultRows {
		mapped = newMappedRows(storeOf(opened), c.Mappings, served.Kinds, wishes)
	}
	handler.Install(generic.Handler.NonGoRestfulMux, c.bootstrapParameters, c.bootstrapBundle(), c.Generic.Serializer)
	installImports(generic.Handler.NonGoRestfulMux, served, held, storeOf(opened))
	if c.Registration != nil {
		generic.Handler.NonGoRestfulMux.Handle(registration.Path, c.Registration)
	}
	return &Server{
		Generic: generic, Store: storeOf(opened), backend: opened, holds: held, custom: custom,
		mapped: mapped, registration: c.Registration, certificate: c.Certificate, sweeper: c.Sweeper, results: c.resultMetrics(opened, kinds),
	}, nil
}

// storage returns where objects are kept. Kinds of reports are always the same, others may change.
func (c CompletedConfig) storage(opened backend) registry.Storage {
	return func(kind registry.Kind) genericregistry.RESTOptionsGetter {
		reports := storeOf(opened)
		if kind.Report() || reports == nil {
			return c.Generic.RESTOptionsGetter
		}
		return countedObjects{objectsOf(reports, kind, c.Mappings, c.projector()), c.Generic.StorageObjectCountTracker}
	}
}

// objectsOf returns where objects of a kind other than reports are kept, with rows if there is a mapping.
func objectsOf(reports *store.Store, kind registry.Kind, mappings *mapping.Set, project store.Projector) genericregistry.RESTOptionsGetter {
	if project == nil || mappings.Of(kind.GroupVersionKind.GroupKind()) == nil {
		return reports.ObjectsGetter(nil)
	}
	return reports.ProjectedGetter(nil, func(obj runtime.Object) (*engine.Projection, error) {
		object, err := kind.Object(obj)
		if err != nil {
			return nil, err
		}
		return project(object)
	})
}

// installResults serves the results of reports as objects, where there are rows of them.
func (c CompletedConfig) installResults(generic *genericapiserver.GenericAPIServer, opened backend, kinds func() []mapping.Kind) error {
	sql, ok := opened.(*sqlBackend)
	if !ok || !c.ServesResults() {
		return nil
	}
	group, err := resultsapi.APIGroup(resultsapi.Options{Questions: sql.database, Cluster: c.Database.Cluster, Kinds: kinds})
	if err != nil {
		return fmt.Errorf("API group of results: %w", err)
	}
	return generic.InstallAPIGroup(group)
}

// resultMetrics returns what counts results for metrics; nil if nobody is to.
func (c CompletedConfig) resultMetrics(opened backend, kinds func() []mapping.Kind) *resultmetrics.Reader {
	sql, ok := opened.(*sqlBackend)
	if !ok || !c.ServesResults() || len(c.MetricsResults) == 0 {
		return nil
	}
	return resultmetrics.New(resultmetrics.Options{
		Questions: sql.database, Labels: c.MetricsResults, Series: c.MetricsResultsSeries, Clock: c.Store.Clock,
		Kinds: func() []engine.ReportKind { return resultsapi.ReportKinds(kinds()) },
	})
}

// ServesResults reports whether the group of results is served, too.
func (c *Config) ServesResults() bool { return c.withoutResults() == "" }

// withoutResults says why the group of results is not served; "" if it is.
func (c *Config) withoutResults() string {
	switch {
	case database.IsEtcd(c.DatabaseURL):
		return "its reports are in etcd"
	case !c.ResultRows:
		return "it has no result rows (--" + resultRowsFlag + ")"
	case !resultsapi.HasResults(resultsapi.Kinds(c.APIGroups)):
		return "reports of " + strings.Join(c.APIGroups, ", ") + " have no result rows (--api-groups)"
	}
	return ""
}

// resultKinds are the kinds of objects in some groups that have result rows.
func (c *Config) resultKinds(groups []string) []mapping.Kind {
	mapped := slices.DeleteFunc(c.Mappings.Kinds(), func(kind mapping.Kind) bool { return !slices.Contains(groups, kind.Group) })
	return resultsapi.Kinds(groups, mapped...)
}

// projector returns what makes result rows, nil if there are to be none.
func (c CompletedConfig) projector() store.Projector {
	if !c.ResultRows {
		return nil
	}
	return results.Projector(c.Mappings)
}

// indexedFields are the fields that lists find through an index: those that
// select few objects. Each further one would cost every write, and a list by kind
// or source reads about as fast in key order.
func indexedFields() []string {
	var names []string
	for _, kind := range registry.Kinds() {
		for _, field := range kind.SelectableFields {
			if strings.HasSuffix(field.Name, ".uid") {
				names = append(names, field.Name)
			}
		}
	}
	return names
}

// Kinds returns what is served now.
func (s *Server) Kinds() []registry.Kind { return s.custom.server.Kinds() }

// OnChange sets what is called after other kinds are served than before. It is to be called before Run.
func (s *Server) OnChange(changed func()) { s.custom.changed = changed }

// ObjectsGetter returns what the generic registry needs to keep objects of other kinds
// beside the reports, encoded with codec.
func (s *Server) ObjectsGetter(codec runtime.Codec) genericregistry.RESTOptionsGetter {
	return s.backend.ObjectsGetter(codec)
}

// Namespaces returns the namespaces that have objects of served kinds, in order.
func (s *Server) Namespaces(ctx context.Context) ([]string, error) {
	var resources []schema.GroupResource
	for _, resource := range namespaced(s.custom.server.Kinds()) {
		resources = append(resources, resource.GroupResource())
	}
	return s.backend.Namespaces(ctx, resources)
}

// Run serves until ctx ends or something fails, then lets requests under way
// finish, ends watches in order, and closes the database.
func (s *Server) Run(ctx context.Context) error {
	return s.RunBehind(ctx, s.Generic.PrepareRun().RunWithContext)
}

// RunBehind is Run for a server that is a part of a chain, whose first server serves:
// until ctx ends or something fails.
func (s *Server) RunBehind(ctx context.Context, serve func(context.Context) error) error {
	// The store outlives the HTTPS server, which still serves after ctx ended.
	storeCtx, stopStore := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stopStore(nil)
	serveCtx, stopServing := context.WithCancelCause(ctx)
	defer stopServing(nil)

	var group errgroup.Group
	group.Go(func() error {
		defer stopServing(errStoreEnded)
		if err := s.backend.Run(storeCtx); err != nil && context.Cause(storeCtx) == nil {
			return fmt.Errorf("store: %w", err)
		}
		return nil
	})
	group.Go(func() error { return s.holds.run(storeCtx) })
	group.Go(func() error { return s.custom.run(serveCtx) })
	group.Go(func() error { return s.mapped.run(serveCtx) })
	// Also while the last requests are answered: new connections need a certificate that is good.
	group.Go(func() error { return s.certificate.run(storeCtx) })
	group.Go(func() error { return s.registration.Run(serveCtx) })
	group.Go(func() error { return s.sweeper.Run(serveCtx) })
	group.Go(func() error { return s.results.Run(serveCtx) })
	group.Go(func() error {
		defer stopStore(errServerEnded)
		if err := serve(serveCtx); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		return nil
	})
	return errors.Join(group.Wait(), s.backend.Close())
}

// Close gives back what New took, for a server that was never run.
func (s *Server) Close() error {
	s.Generic.Destroy()
	return s.backend.Close()
}
