// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/component-base/tracing"

	"github.com/docket-project/docket/controller/internal/admission"
	"github.com/docket-project/docket/controller/internal/admission/webhook"
	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/cluster/policies"
	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/cluster/source"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/scan"
)

// replica has the parts that every replica runs, whether it leads or not: the policies, the data that they read,
// and the webhook.
type replica struct {
	client     dynamic.Interface
	kubernetes kubernetes.Interface
	served     *served.Watcher
	cache      *contextcache.Cache
	policies   *policies.Set
	// admission and webhook are nil if admission requests are not answered.
	admission *admission.Server
	webhook   *webhook.Server

	// current has the policies of a snapshot as a list, for the webhook.
	current atomic.Pointer[currentPolicies]
	// wanted is true once the cache knows the entries that policies declare.
	wanted atomic.Bool
}

type currentPolicies struct {
	snapshot *policies.Snapshot
	list     []policy.Policy
}

// newReplica makes all parts. None of them runs before support and serve.
func (m *Manager) newReplica(ctx context.Context) (*replica, error) {
	r := &replica{}
	var err error
	if r.kubernetes, err = kubernetes.NewForConfig(m.config); err != nil {
		return nil, err
	}
	if r.client, err = source.NewClient(m.config); err != nil {
		return nil, err
	}
	short := rest.CopyConfig(m.config)
	short.Timeout = discoveryTimeout
	kinds, err := discovery.NewDiscoveryClientForConfig(short)
	if err != nil {
		return nil, err
	}
	r.served = served.NewWatcher(served.Config{Discovery: kinds, Failed: scan.DiscoveryFailed})
	options := CompilerOptions{EvaluationOptions: m.options.EvaluationOptions, Registry: m.options.RegistryOptions}
	config := contextcache.Config{Client: r.client, REST: r.kubernetes.Discovery().RESTClient(), Served: r.served, Engine: m.engines.Expressions(options)}
	if err := m.options.CacheOptions.Apply(&config); err != nil {
		return nil, err
	}
	if r.cache, err = contextcache.New(config); err != nil {
		return nil, err
	}
	compiler, err := m.engines.Compiler(m.config, r.cache, options)
	if err != nil {
		return nil, err
	}
	if r.policies, err = policies.New(policies.Config{Client: r.client, Served: r.served, Compiler: compiler, KyvernoKinds: m.options.AdoptKyvernoResults, Failed: scan.RequestFailed}); err != nil {
		return nil, err
	}
	if m.options.Admission {
		err = m.addWebhook(ctx, r)
	}
	return r, err
}

func (m *Manager) addWebhook(ctx context.Context, r *replica) error {
	namespace, err := podNamespace("webhook-namespace", m.options.WebhookNamespace)
	if err != nil {
		return err
	}
	r.admission = admission.NewServer(admission.Config{
		Client: r.client, Catalogs: r.served, Policies: r.policyList, All: m.options.AdmissionPolicies == allPolicies, Exclude: m.excluded(),
		Events: r.kubernetes.CoreV1(), About: r.policyNamed, Timeout: m.options.WebhookTimeout,
	})
	config := webhook.Config{
		Address: m.options.WebhookBindAddress, Handler: tracing.WithTracing(r.admission.Handler(), m.telemetry.Traces, "admission request"), CertDir: m.options.WebhookCertDir,
		Client: r.kubernetes, Namespace: namespace, Secret: m.options.WebhookSecret, Service: m.options.WebhookService,
		Trusted:      webhook.TrustedBy(r.kubernetes, webhook.DefaultName),
		ClientCAFile: m.options.WebhookClientCA, ClientNames: m.options.WebhookClientNames,
	}
	if m.options.WebhookURL != "" {
		parsed, err := url.Parse(m.options.WebhookURL)
		if err != nil {
			return err
		}
		config.Hosts = []string{parsed.Hostname()}
	}
	r.webhook, err = webhook.NewServer(ctx, config)
	return err
}

// policyList returns the policies; nil until they are known. It returns the same list until they change.
func (r *replica) policyList() []policy.Policy {
	snapshot := r.policies.Current()
	if snapshot == nil {
		return nil
	}
	if current := r.current.Load(); current != nil && current.snapshot == snapshot {
		return current.list
	}
	next := &currentPolicies{snapshot: snapshot, list: make([]policy.Policy, 0, len(snapshot.Items))}
	for _, item := range snapshot.Items {
		next.list = append(next.list, item.Policy)
	}
	r.current.Store(next)
	return next.list
}

// policyNamed returns the reference for Events about a policy.
func (r *replica) policyNamed(id policy.Identity) (corev1.ObjectReference, bool) {
	snapshot := r.policies.Current()
	if snapshot == nil {
		return corev1.ObjectReference{}, false
	}
	item := snapshot.Find(id)
	if item == nil {
		return corev1.ObjectReference{}, false
	}
	return item.Reference(), true
}

// support runs what requests and the leader need until ctx is done.
func (r *replica) support(ctx context.Context) error {
	defer r.policies.Subscribe(r.wantEntries)()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		r.served.Run(ctx)
		return nil
	})
	group.Go(func() error { return r.cache.Run(ctx) })
	group.Go(func() error { return r.policies.Run(ctx) })
	if r.admission != nil {
		group.Go(func() error { return r.admission.Run(ctx) })
	}
	return group.Wait()
}

// wantEntries tells the cache which entries policies declare.
func (r *replica) wantEntries() {
	var entries []policy.Entry
	for _, p := range r.policyList() {
		entries = append(entries, p.Entries()...)
	}
	r.cache.Want(entries)
	r.wanted.Store(true)
}

// serve answers admission requests, if they are to be answered, until some time after ctx is done.
func (r *replica) serve(ctx context.Context) error {
	if r.webhook == nil {
		return nil
	}
	return r.webhook.Run(ctx)
}

var errEntriesUnknown = errors.New("the context cache does not know yet which entries policies read")

// ready returns why requests can't be answered or policies can't be evaluated; nil if they can. The cache is asked
// only when it knows all entries: it stays ready once it was, and without entries it would be ready at once.
func (r *replica) ready() error {
	if err := r.policies.Ready(); err != nil {
		return err
	}
	if !r.wanted.Load() {
		return errEntriesUnknown
	}
	errs := []error{r.cache.Ready()}
	if r.admission != nil {
		errs = append(errs, r.admission.Ready(), r.webhook.Ready())
	}
	return errors.Join(errs...)
}

// registrar returns what keeps the webhook registered with kube-apiserver.
func (m *Manager) registrar(r *replica, recorder record.EventRecorder) (*webhook.Registrar, error) {
	namespace, err := podNamespace("webhook-namespace", m.options.WebhookNamespace)
	if err != nil {
		return nil, err
	}
	return webhook.NewRegistrar(webhook.RegistrarConfig{
		Client: r.kubernetes, Recorder: recorder, URL: m.options.WebhookURL, Service: types.NamespacedName{Namespace: namespace, Name: m.options.WebhookService}, FailPath: admission.PathFail, IgnorePath: admission.PathIgnore,
		CABundle: r.webhook.CABundle, InjectFrom: m.options.WebhookInjectFrom,
		Policies:  func() ([]policy.Policy, bool) { return r.policyList(), r.policies.Current() != nil },
		Catalog:   r.served.Current,
		Subscribe: []func(func()) func(){r.policies.Subscribe, r.served.Subscribe, r.webhook.Subscribe},
		Serving:   r.ready,
		All:       m.options.AdmissionPolicies == allPolicies, Timeout: m.options.WebhookTimeout, Exclude: policy.NewExclusion(m.excluded()...),
		ExcludeNamespaces: append(slices.Clone(m.options.AdmissionExcludeNamespaces), namespace),
		ExcludeUsers:      append(slices.Clone(m.options.AdmissionExcludeUsers), "system:serviceaccount:"+namespace+":docket-controller"),
		OwnerClusterRole:  "docket:controller",
	}), nil
}

// excluded returns the resources that are neither scanned nor reviewed at admission.
func (m *Manager) excluded() []schema.GroupResource {
	excluded := make([]schema.GroupResource, 0, len(m.options.ExcludeKinds))
	for _, kind := range m.options.ExcludeKinds {
		excluded = append(excluded, schema.ParseGroupResource(kind))
	}
	return excluded
}
