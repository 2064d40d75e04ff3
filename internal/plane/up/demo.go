// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
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
	"github.com/docket-project/docket/internal/kit/progress"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/reports/registry"
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

// loadDemo creates the missing reports of the demo, in the groups that
// are served. Reports that exist already stay unchanged, changes of the user
// included.
func loadDemo(ctx context.Context, config *rest.Config, groups []string, c clock.PassiveClock, w io.Writer) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // No limit: the server is this process.
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("load the demo: %w", err)
	}
	present, err := presentReports(ctx, config, groups)
	if err != nil {
		return fmt.Errorf("load the demo: %w", err)
	}
	cluster := sample.Cluster{Seed: demoSeed, Now: c.Now()}
	var unknown error
	missing := func(yield func(pending) bool) {
		for report := range cluster.Reports(demoReports) {
			id, err := identify(report)
			unknown = errors.Join(unknown, err)
			if slices.Contains(groups, id.resource.Group) && !present.Has(id) && !yield(pending{id, report}) {
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
	if count == 0 || unknown != nil {
		return unknown
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

// presentReports returns the identities of all reports in the groups.
func presentReports(ctx context.Context, config *rest.Config, groups []string) (sets.Set[identity], error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	present := sets.New[identity]()
	for _, kind := range registry.Kinds() {
		resource := kind.GroupVersionResource()
		if !slices.Contains(groups, resource.Group) {
			continue
		}
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

func identify(report *unstructured.Unstructured) (identity, error) {
	gvk := report.GroupVersionKind()
	for _, kind := range registry.Kinds() {
		if kind.GroupVersionKind == gvk {
			return identity{kind.GroupVersionResource(), report.GetNamespace(), report.GetName()}, nil
		}
	}
	return identity{}, fmt.Errorf("%s is not served", gvk)
}
