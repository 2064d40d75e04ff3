// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/clock"

	reportskyverno "github.com/docket-project/docket/api/reportskyverno/v1"
	"github.com/docket-project/docket/internal/kit/atomicfile"
	"github.com/docket-project/docket/internal/kit/progress"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/store/database"
)

const (
	demoReports = 3000
	demoManager = "docket-demo"
	demoSeed    = 1
	// demoWriters at once let the store commit in batches.
	demoWriters = 32
	// demoRequestTimeout of one report.
	demoRequestTimeout = time.Minute
)

// identity of a report over all kinds.
type identity struct {
	resource        schema.GroupVersionResource
	namespace, name string
}

// serveDemoKinds has Trivy's kinds served once the demo was asked for, unless the user defines them. The definitions
// stay in a file, so that later starts without the demo serve them, too.
func (o *Options) serveDemoKinds(file string) error {
	storage := o.server.Storage
	if database.IsEtcd(storage.Database) {
		return nil // It keeps only reports.
	}
	if o.Demo {
		if err := atomicfile.Write(file, sample.TrivyDefinitions()); err != nil {
			return err
		}
	} else if _, err := os.Stat(file); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	own, err := trivyKinds(storage.CustomResources)
	if err == nil && len(own) == 0 {
		storage.CustomResources = append(storage.CustomResources, file)
	}
	return err
}

// trivyKinds returns the kinds of Trivy that files define.
func trivyKinds(files []string) ([]registry.Kind, error) {
	kinds, err := apiserver.ReadKinds(files)
	return slices.DeleteFunc(kinds, func(kind registry.Kind) bool { return kind.GroupVersionKind.Group != sample.TrivyGroup }), err
}

// loadDemo creates the missing reports of the demo, of the kinds that are served. Reports that exist already stay
// unchanged, changes of the user included.
func (o *Options) loadDemo(ctx context.Context, config *rest.Config, c clock.PassiveClock, w io.Writer) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // No limit: the server is this process.
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("load the demo: %w", err)
	}
	kinds, err := trivyKinds(o.server.Storage.CustomResources)
	if err != nil {
		return fmt.Errorf("load the demo: %w", err)
	}
	kinds = append(kinds, registry.KindsOf(o.server.Storage.APIGroups)...)
	present, err := presentReports(ctx, config, kinds)
	if err != nil {
		return fmt.Errorf("load the demo: %w", err)
	}
	cluster := sample.Cluster{Seed: demoSeed, Now: c.Now()}
	missing := func(yield func(pending) bool) {
		for report := range cluster.Reports(demoReports) {
			i := slices.IndexFunc(kinds, func(kind registry.Kind) bool { return kind.GroupVersionKind == report.GroupVersionKind() })
			if i < 0 {
				continue
			}
			id := identity{kinds[i].GroupVersionResource(), report.GetNamespace(), report.GetName()}
			if !present.Has(id) && !yield(pending{id, report}) {
				return
			}
		}
	}
	// Made twice rather than kept: all of them at once take more memory than the
	// server does.
	count, ephemeral, namespaces := 0, 0, sets.New[string]()
	for report := range missing {
		if report.id.resource.Group == reportskyverno.GroupName {
			ephemeral++
		}
		namespaces.Insert(report.id.namespace)
		count++
	}
	if count == 0 {
		return nil
	}
	if err := createNamespaces(ctx, client, namespaces.Delete("")); err != nil {
		return fmt.Errorf("load the demo: %w", err)
	}
	err = createAll(ctx, client, missing, progress.New(w, int64(count), "demo reports"))
	if err == nil && ephemeral > 0 {
		_, err = fmt.Fprintf(w, "%d of them are EphemeralReports, which the results and SQL views leave out.\n", ephemeral)
	}
	// The server's memory is small beside what the demo took: give that back.
	debug.FreeOSMemory()
	return err
}

// createNamespaces creates those that are missing.
func createNamespaces(ctx context.Context, client dynamic.Interface, names sets.Set[string]) error {
	resource := client.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	for _, name := range sets.List(names) {
		namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
		namespace.SetName(name)
		_, err := resource.Create(ctx, namespace, metav1.CreateOptions{FieldManager: demoManager})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	return nil
}

// pending is a report that is to be created.
type pending struct {
	id     identity
	report *unstructured.Unstructured
}

// createAll creates reports.
func createAll(ctx context.Context, client dynamic.Interface, reports iter.Seq[pending], bar *progress.Bar) error {
	defer bar.Done()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(demoWriters)
	for next := range reports {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			// A request that was sent is waited for: the server finishes it anyway before
			// it ends.
			requestCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), demoRequestTimeout)
			defer cancel()
			id := next.id
			_, err := client.Resource(id.resource).Namespace(id.namespace).Create(requestCtx, next.report, metav1.CreateOptions{FieldManager: demoManager})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("load the demo: create %s %s/%s: %w", id.resource.Resource, id.namespace, id.name, err)
			}
			bar.Add(1)
			return nil
		})
	}
	return group.Wait()
}

// presentReports returns the identities of all reports of kinds.
func presentReports(ctx context.Context, config *rest.Config, kinds []registry.Kind) (sets.Set[identity], error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	present := sets.New[identity]()
	for _, kind := range kinds {
		resource := kind.GroupVersionResource()
		list := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
			return client.Resource(resource).List(ctx, options)
		}))
		err := list.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
			item, err := meta.Accessor(object)
			if err == nil {
				present.Insert(identity{resource, item.GetNamespace(), item.GetName()})
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource.Resource, err)
		}
	}
	return present, nil
}
