// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/classic"
	"github.com/docket-project/docket/controller/internal/report"
	"github.com/docket-project/docket/internal/kit/cli"
)

// Requests a second and at once: client-go's own limit is for controllers that run all day.
const (
	clientQPS   = 100
	clientBurst = 200
)

// restConfig reads a kubeconfig that a flag names.
func restConfig(flag, path, contextName string) (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path},
		&clientcmd.ConfigOverrides{CurrentContext: contextName}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--%s: %w", flag, err)
	}
	config.QPS, config.Burst = clientQPS, clientBurst
	// Which versions are listed is the policies' choice; warnings help nobody.
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// newEngine returns what evaluates expressions over cached data, with the functions that policies know.
func newEngine() *table.Engine {
	functions, impure := classic.Functions()
	return table.NewEngine(functions, impure...)
}

// fromCluster takes the resources of a cluster, and its policies if none are given.
func (s *scan) fromCluster(ctx context.Context) error {
	config, err := restConfig("kubeconfig", s.flags.kubeconfig, s.flags.context)
	if err != nil {
		return cli.Usage(err)
	}
	access, err := newClients(config)
	if err != nil {
		return fmt.Errorf("--kubeconfig: %w", err)
	}
	if err := askVersion(ctx, access, s.flags.kubeconfig); err != nil {
		return err
	}
	cluster, err := filescan.NewCluster(access.dynamic, access.discovery, s.flags.namespaces)
	if err != nil {
		return err
	}
	s.source, s.kinds = cluster, cluster.Kinds
	input, err := s.clusterInput(ctx, cluster)
	if err != nil {
		return err
	}
	cache, err := s.cacheOf(ctx, access)
	if err != nil {
		return err
	}
	compiler, err := newCompiler(config, cache, s.flags.compilerOptions())
	if err != nil {
		return err
	}
	if err := s.compile(compiler, input); err != nil {
		return err
	}
	if len(s.flags.policies) == 0 {
		s.policies = slices.DeleteFunc(s.policies, func(p policy.Policy) bool { return !p.Background() })
	}
	var entries []policy.Entry
	for _, p := range s.policies {
		entries = append(entries, p.Entries()...)
	}
	cache.Want(entries)
	return nil
}

// clusterInput reads the policies of --policy, or else those of the cluster.
func (s *scan) clusterInput(ctx context.Context, cluster *filescan.Cluster) (filescan.Sorted, error) {
	if len(s.flags.policies) > 0 {
		input, err := s.load(&manifest.Loader{Stdin: s.flags.process.In})
		for _, entry := range input.Entries {
			s.note([]string{fmt.Sprintf("%s: the %s is not used; policies that are evaluated for a cluster use the entries of the cluster", entry.Origin, entry.GetKind())})
		}
		return input, err
	}
	policies, err := cluster.Objects(ctx, policy.Kinds())
	if err != nil {
		return filescan.Sorted{}, err
	}
	exceptions, err := cluster.Objects(ctx, policy.ExceptionKinds())
	if err != nil {
		return filescan.Sorted{}, err
	}
	if len(policies) == 0 {
		return filescan.Sorted{}, errors.New("the cluster has no policies; give some with --policy")
	}
	return filescan.Sorted{Policies: policies, Exceptions: exceptions}, nil
}

// cacheOf keeps data of the cluster until ctx is done.
func (s *scan) cacheOf(ctx context.Context, access *clients) (*contextcache.Cache, error) {
	watcher := served.NewWatcher(served.Config{Discovery: access.kubernetes.Discovery()})
	config := contextcache.Config{Client: access.dynamic, REST: access.kubernetes.Discovery().RESTClient(), Served: watcher, Engine: newEngine()}
	if err := s.flags.cache.Apply(&config); err != nil {
		return nil, err
	}
	cache, err := contextcache.New(config)
	if err != nil {
		return nil, err
	}
	// What goes wrong is said by the policies that it concerns.
	quiet := klog.NewContext(ctx, klog.Logger{})
	s.ended.Go(func() { watcher.Run(quiet) })
	s.ended.Go(func() { _ = cache.Run(quiet) }) // It returns when ctx is done.
	return cache, nil
}

// reportServer is where --to writes reports.
type reportServer struct {
	writer     *report.Writer
	counts     *writeCounts
	namespaces corev1client.NamespaceInterface
}

// openReports reads the reports that the server has into the layout.
func openReports(ctx context.Context, kubeconfig string, layout *report.Layout) (*reportServer, error) {
	config, err := restConfig("to", kubeconfig, "")
	if err != nil {
		return nil, cli.Usage(err)
	}
	server := &reportServer{counts: &writeCounts{}}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	server.namespaces = core.Namespaces()
	config = rest.CopyConfig(config)
	config.Wrap(server.counts.wrap)
	if server.writer, err = report.NewWriter(report.Config{Layout: layout, REST: config}); err != nil {
		return nil, fmt.Errorf("--to: %w", err)
	}
	// The error says all that the log would.
	if err := server.writer.Load(klog.NewContext(ctx, klog.Logger{})); err != nil {
		return nil, fmt.Errorf("--to: read the reports that are there: %w", withHint(err, kubeconfig))
	}
	return server, nil
}

// withHint says of credentials that are not accepted where they are from.
func withHint(err error, kubeconfig string) error {
	if !apierrors.IsUnauthorized(err) {
		return err
	}
	return fmt.Errorf("%w: the server does not accept the credentials of %s; is it an old kubeconfig, or one of another server?", err, kubeconfig)
}

// askVersion asks the cluster for its version: what the library says of a cluster that can't be asked goes
// to the log.
func askVersion(ctx context.Context, access *clients, kubeconfig string) error {
	err := access.kubernetes.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	if err == nil || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("--kubeconfig: ask the cluster for its version: %w", withHint(err, kubeconfig))
}

// createNamespaces creates the namespaces that the server does not have.
func (s *reportServer) createNamespaces(ctx context.Context, names []string) error {
	for _, name := range names {
		_, err := s.namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the namespace %s: %w", name, err)
		}
	}
	return nil
}

// flush writes what has changed and says what that was.
func (s *reportServer) flush(ctx context.Context) (string, error) {
	// The error says all that the log would.
	err := s.writer.Flush(klog.NewContext(ctx, klog.Logger{}))
	return s.counts.String(), err
}

// writeCounts counts the writes that the server accepted.
type writeCounts struct {
	created, updated, deleted atomic.Int64
}

// String is for people.
func (c *writeCounts) String() string {
	return fmt.Sprintf("reports: %d created, %d updated, %d deleted", c.created.Load(), c.updated.Load(), c.deleted.Load())
}

func (c *writeCounts) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil || response.StatusCode >= http.StatusMultipleChoices {
			return response, err
		}
		switch request.Method {
		case http.MethodPost:
			c.created.Add(1)
		case http.MethodPut, http.MethodPatch:
			c.updated.Add(1)
		case http.MethodDelete:
			c.deleted.Add(1)
		}
		return response, nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
