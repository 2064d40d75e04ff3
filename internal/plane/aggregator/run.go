// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	informers "k8s.io/kube-aggregator/pkg/client/informers/externalversions"
	apiregistrationinformers "k8s.io/kube-aggregator/pkg/client/informers/externalversions/apiregistration/v1"
	openapiaggregator "k8s.io/kube-aggregator/pkg/controllers/openapi/aggregator"
	openapiv3 "k8s.io/kube-aggregator/pkg/controllers/openapiv3"
	openapiv3aggregator "k8s.io/kube-aggregator/pkg/controllers/openapiv3/aggregator"
	localavailability "k8s.io/kube-aggregator/pkg/controllers/status/local"
	availabilitymetrics "k8s.io/kube-aggregator/pkg/controllers/status/metrics"
	openapicommon "k8s.io/kube-openapi/pkg/common"
)

// Aggregator is a server in front of others. It is made by Config.New.
type Aggregator struct {
	// Generic is its server.
	Generic *genericapiserver.GenericAPIServer

	serviceInformer coreinformers.ServiceInformer
	certificates    *dynamiccertificates.DynamicCertKeyPairContent
	client          clientset.Interface
	factory         informers.SharedInformerFactory
	informer        apiregistrationinformers.APIServiceInformer
	openAPI         *openapicommon.Config
	openAPIV3       *openapicommon.OpenAPIV3Config

	registry     *registry
	locals       *locals
	legacy       *legacyDiscovery
	availability *availability
	proxy        *proxy
	crds         *crds                            // Nil without WatchCRDs.
	upstream     *upstream                        // Nil without one.
	documents    *documents                       // From PrepareRun on.
	v3           *openapiv3.AggregationController // From PrepareRun on.

	ready   chan struct{} // Closed when all registrations are known.
	streams *Streams
	work    sync.WaitGroup
}

// route sends an authenticated and authorized request to the server that is responsible for it.
func (a *Aggregator) route(local http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rest, isGroup := strings.CutPrefix(r.URL.Path, "/apis/")
		if !isGroup || rest == "" {
			local.ServeHTTP(w, r)
			return
		}
		group, tail, _ := strings.Cut(rest, "/")
		if tail == "" {
			if r.Method != http.MethodGet && r.Method != http.MethodHead || !a.legacy.serveGroup(w, r, group) {
				local.ServeHTTP(w, r)
			}
			return
		}
		version, _, _ := strings.Cut(tail, "/")
		groupVersion := rest[:len(group)+1+len(version)]
		if b := a.registry.find(groupVersion); b != nil {
			a.proxy.serve(w, r, b)
			return
		}
		select {
		case <-a.ready:
		default:
			// A 404 for something that is about to be registered would mislead controllers. What this
			// process serves must not wait: it asks itself while it starts.
			if group != apiregistration.GroupName && a.locals.owner(groupVersion) == "" && a.crds == nil {
				writeError(w, r, apierrors.NewServiceUnavailable("the registrations of API servers are being loaded"))
				return
			}
		}
		local.ServeHTTP(w, r)
	})
}

// Enqueue implements dynamiccertificates.Listener: the proxy's certificate changed.
func (a *Aggregator) Enqueue() {
	a.registry.rebuild()
	for _, b := range a.registry.backends() {
		a.availability.changed(b.name())
	}
}

// addHooks makes the aggregator's goroutines start with the server, which is not ready before
// all registrations are known.
func (a *Aggregator) addHooks() error {
	if err := a.Generic.RegisterMuxAndDiscoveryCompleteSignal("APIServicesLoaded", a.ready); err != nil {
		return err
	}
	return a.Generic.AddPostStartHook("docket-apiservices", func(hook genericapiserver.PostStartHookContext) error {
		return a.start(hook.Context)
	})
}

// start returns when all registrations are known. What it starts ends with ctx.
func (a *Aggregator) start(ctx context.Context) error {
	context.AfterFunc(ctx, a.streams.End)
	if a.upstream != nil {
		a.work.Go(func() { a.upstream.run(ctx) })
	}
	local, err := localavailability.New(a.informer, a.client.ApiregistrationV1(), availabilitymetrics.New())
	if err != nil {
		return err
	}
	registration, err := a.informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.update(nil, object) },
		UpdateFunc: a.update,
		DeleteFunc: a.remove,
	})
	if err != nil {
		return err
	}
	if err := a.watchServices(); err != nil {
		return err
	}
	a.factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return nil // ctx has ended.
	}
	close(a.ready)
	a.work.Go(func() { a.certificates.Run(ctx, 1) })
	a.work.Go(func() { local.Run(registrationWorkers, ctx.Done()) })
	a.work.Go(func() { a.v3.RunWithContext(ctx) })
	a.work.Go(func() { a.availability.run(ctx) })
	a.work.Go(func() { a.documents.run(ctx) })
	a.work.Go(func() { a.locals.run(ctx) })
	register := func() { a.work.Go(func() { a.locals.runRegister(ctx) }) }
	if a.crds == nil {
		register()
		return nil
	}
	// Not before the definitions are known: their APIServices would be deleted and recreated.
	a.work.Go(func() { a.crds.run(ctx, register) })
	return nil
}

func (a *Aggregator) update(before, now any) {
	service, ok := now.(*apiregistration.APIService)
	if !ok {
		return
	}
	wasAvailable := false
	if b := a.registry.named(service.Name); b != nil {
		wasAvailable = b.available
	}
	a.registry.set(service)
	b := a.registry.named(service.Name)
	old, _ := before.(*apiregistration.APIService)
	if old == nil || !reflect.DeepEqual(old.Spec, service.Spec) || !reflect.DeepEqual(old.Annotations, service.Annotations) {
		a.availability.changed(service.Name)
	}
	if b == nil || b.available && !wasAvailable {
		a.documents.changed(service.Name)
	}
}

func (a *Aggregator) remove(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if service, ok := object.(*apiregistration.APIService); ok {
		a.registry.remove(service.Name)
		a.availability.changed(service.Name)
		a.documents.changed(service.Name)
	}
}

// watchServices probes servers whose Service has changed.
func (a *Aggregator) watchServices() error {
	if a.serviceInformer == nil {
		return nil
	}
	changed := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		service, ok := object.(*corev1.Service)
		if !ok {
			return
		}
		for _, b := range a.registry.backends() {
			if reference := b.service.Spec.Service; reference.Namespace == service.Namespace && reference.Name == service.Name {
				a.availability.changed(b.name())
			}
		}
	}
	_, err := a.serviceInformer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, DeleteFunc: changed,
		UpdateFunc: func(before, now any) {
			x, isX := before.(*corev1.Service)
			y, isY := now.(*corev1.Service)
			if isX && isY && !reflect.DeepEqual(x.Spec, y.Spec) {
				changed(now)
			}
		},
	})
	return err
}

// Prepared is an aggregator whose paths are all installed.
type Prepared struct {
	aggregator *Aggregator
	run        func(context.Context) error
}

// PrepareRun installs OpenAPI and health of the whole chain. It is to be called once, before
// RunWithContext.
func (a *Aggregator) PrepareRun() (Prepared, error) {
	prepared := a.Generic.PrepareRun()
	paths, container := a.Generic.Handler.NonGoRestfulMux, a.Generic.Handler.GoRestfulContainer
	downloader := openapiaggregator.NewDownloader()
	v2, err := openapiaggregator.BuildAndRegisterAggregator(&downloader, a.Generic.NextDelegate(), container.RegisteredWebServices(), a.openAPI, paths)
	if err != nil {
		return Prepared{}, err
	}
	v3, err := openapiv3aggregator.BuildAndRegisterAggregator(openapiv3aggregator.NewDownloader(), a.Generic.NextDelegate(), container, a.openAPIV3, paths)
	if err != nil {
		return Prepared{}, err
	}
	a.openAPIV3.Definitions = nil // Nobody needs them after this.
	a.v3 = openapiv3.NewAggregationController(v3)
	if a.documents, err = newDocuments(a.registry, v2, v3); err != nil {
		return Prepared{}, err
	}
	return Prepared{aggregator: a, run: prepared.RunWithContext}, nil
}

// RunWithContext serves until ctx ends. When it returns, the goroutines of this package have
// ended.
func (p Prepared) RunWithContext(ctx context.Context) error {
	err := p.run(ctx)
	p.aggregator.factory.Shutdown()
	p.aggregator.work.Wait()
	return err
}
