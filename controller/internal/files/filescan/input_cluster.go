// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/cli"
)

// Requests a second and at once: client-go's own limit is for controllers that run all day.
const (
	clientQPS   = 100
	clientBurst = 200
)

func restConfig(kubeconfig, contextName string) (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: contextName}).ClientConfig()
	if err != nil {
		return nil, cli.Usage(err)
	}
	config.QPS, config.Burst = clientQPS, clientBurst
	// Policies choose the versions that are listed; warnings help nobody.
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// WithHint names the kubeconfig of credentials that a server does not accept.
func WithHint(err error, kubeconfig string) error {
	if !apierrors.IsUnauthorized(err) {
		return err
	}
	return fmt.Errorf("%w: the server does not accept the credentials of %s; is it an old kubeconfig, or one of another server?", err, kubeconfig)
}

// connection is the way to the cluster of --kubeconfig.
type connection struct {
	config  *rest.Config
	client  dynamic.Interface
	asked   discovery.DiscoveryInterface
	cluster *Cluster
}

// connect finds out what the cluster serves.
func (in *Input) connect(ctx context.Context) (*connection, error) {
	config, err := restConfig(in.Kubeconfig, in.Context)
	if err != nil {
		return nil, prefixed("--kubeconfig", err)
	}
	client, err := source.NewClient(config)
	if err != nil {
		return nil, prefixed("--kubeconfig", err)
	}
	asked, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, prefixed("--kubeconfig", err)
	}
	if err := askVersion(ctx, asked, in.Kubeconfig); err != nil {
		return nil, err
	}
	cluster, err := NewCluster(client, memory.NewMemCacheClient(asked), in.Namespaces)
	return &connection{config, client, asked, cluster}, err
}

// behind returns the cluster that is asked for what files don't have; nil for none. If no policies are given, it reads
// those of the cluster.
func (in *Input) behind(ctx context.Context, l *Loaded) (*objects.Behind, error) {
	if in.Kubeconfig == "" {
		return nil, nil
	}
	c, err := in.connect(ctx)
	if err != nil {
		return nil, err
	}
	if len(in.Policies) == 0 {
		if l.Sorted, err = in.clusterPolicies(ctx, l, c.cluster); err != nil {
			return nil, err
		}
	}
	if in.Lookup == LookupFiles {
		return nil, nil
	}
	return objects.NewBehind(c.config, c.cluster.catalog, in.Cache.CallTimeout, in.Cache.MemoryLimit)
}

// loadCluster takes the resources of a cluster, and its policies if none are given.
func (in *Input) loadCluster(ctx context.Context, l *Loaded) error {
	c, err := in.connect(ctx)
	if err != nil {
		return err
	}
	l.Source, l.Kinds = c.cluster, named(c.cluster.catalog)
	if l.Sorted, err = in.clusterPolicies(ctx, l, c.cluster); err != nil {
		return l.fail(err)
	}
	cache, err := in.startCache(ctx, l, c.client, c.asked)
	if err != nil {
		return err
	}
	if l.Compiler, err = in.ForCluster(c.config, cache); err != nil {
		return err
	}
	l.compile()
	if len(in.Policies) == 0 {
		l.Policies = slices.DeleteFunc(l.Policies, func(p policy.Policy) bool { return !p.Background() })
	}
	var entries []policy.Entry
	for _, p := range l.Policies {
		entries = append(entries, p.Entries()...)
	}
	cache.Want(entries)
	return nil
}

// askVersion asks the cluster for its version: the library only logs that a cluster can't be reached.
func askVersion(ctx context.Context, cluster discovery.DiscoveryInterface, kubeconfig string) error {
	err := cluster.RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	if err == nil || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("--kubeconfig: ask the cluster for its version: %w", WithHint(err, kubeconfig))
}

// clusterPolicies reads the policies of --policy, or else those of the cluster.
func (in *Input) clusterPolicies(ctx context.Context, l *Loaded, cluster *Cluster) (Sorted, error) {
	if len(in.Policies) > 0 {
		sorted, err := in.loadPolicies(l, &manifest.Loader{Stdin: in.Process.In, GoOn: true})
		for _, entry := range sorted.Entries {
			in.note(fmt.Sprintf("%s: the %s is not used; policies that are evaluated for a cluster use the entries of the cluster", entry.Origin, entry.GetKind()))
		}
		return sorted, err
	}
	policies, err := cluster.Objects(ctx, policy.Kinds())
	if err != nil {
		return Sorted{}, err
	}
	exceptions, err := cluster.Objects(ctx, policy.ExceptionKinds())
	if err == nil && len(policies) == 0 {
		err = errors.New("the cluster has no policies; give some with --policy")
	}
	return Sorted{Policies: policies, Exceptions: exceptions}, err
}

// startCache keeps data of the cluster until ctx is done.
func (in *Input) startCache(ctx context.Context, l *Loaded, client dynamic.Interface, asked discovery.DiscoveryInterface) (*contextcache.Cache, error) {
	watcher := served.NewWatcher(served.Config{Discovery: asked})
	config := in.Cache
	config.Client, config.REST, config.Served = client, asked.RESTClient(), watcher
	cache, err := contextcache.New(config)
	if err != nil {
		return nil, err
	}
	// Policies report the failures that concern them.
	quiet := klog.NewContext(ctx, klog.Logger{})
	l.ended.Go(func() { watcher.Run(quiet) })
	l.ended.Go(func() { _ = cache.Run(quiet) }) // It returns when ctx is done.
	return cache, nil
}
