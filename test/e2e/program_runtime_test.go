// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
)

// byStep is an index of the cache.
const byStep = "metadata.labels.step"

// startRuntime starts what controllers of controller-runtime work with: a client that
// reads from a cache. It ends with the test.
func startRuntime(t *testing.T, config *rest.Config) cluster.Cluster {
	t.Helper()
	ctrllog.SetLogger(logr.Discard()) // The library complains if nobody chooses.
	c := testkit.Must(cluster.New(config, func(o *cluster.Options) {
		o.Client.Cache = &client.CacheOptions{Unstructured: true}
		o.Logger = logr.Discard()
	}))(t)
	testkit.NoError(t, wgpolicy.AddToScheme(c.GetScheme()))
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	var ended error
	group.Go(func() { ended = c.Start(ctx) })
	t.Cleanup(func() {
		cancel()
		group.Wait()
		if ended != nil {
			t.Errorf("controller-runtime: %v", ended)
		}
	})
	return c
}

// runRuntime does what controllers do, and returns what their cache showed.
func runRuntime(t *testing.T, p *programCluster) []string {
	c := startRuntime(t, p.config)
	var lines []string
	for _, kind := range sample.Kinds() {
		r := runtimeOf{t, c, kind, p.namespace, &lines}
		r.index()
		r.createAndPatch()
		r.remove()
	}
	r := runtimeOf{t, c, sample.Kinds()[0], p.namespace, &lines}
	r.typed()
	return lines
}

// runtimeOf is a controller's work on one kind.
type runtimeOf struct {
	t         *testing.T
	cluster   cluster.Cluster
	kind      sample.Kind
	namespace string
	lines     *[]string
}

func (r runtimeOf) note(what string, values ...any) {
	*r.lines = append(*r.lines, fmt.Sprintf("%s %s: %v", r.kind.Kind, what, values))
}

func (r runtimeOf) empty() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(r.kind.APIVersion)
	object.SetKind(r.kind.Kind)
	return object
}

func (r runtimeOf) object(name string) *unstructured.Unstructured {
	object := sample.Cluster{Now: sampleTime}.Report(r.kind, 1, 2)
	object.SetName(name)
	object.SetOwnerReferences(nil)
	object.SetNamespace("")
	if r.kind.Namespaced {
		object.SetNamespace(r.namespace)
	}
	return object
}

func (r runtimeOf) index() {
	r.t.Helper()
	err := r.cluster.GetFieldIndexer().IndexField(r.t.Context(), r.empty(), byStep, func(o client.Object) []string { return []string{o.GetLabels()["step"]} })
	if err != nil {
		r.t.Fatal(err)
	}
}

// cached waits until the cache has so many objects of a step, and returns their names and
// generations.
func (r runtimeOf) cached(step string, want int) []string {
	r.t.Helper()
	var names []string
	waitSettled(r.t, 100*time.Millisecond, func() string {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(r.kind.APIVersion)
		list.SetKind(r.kind.Kind + "List")
		if err := r.cluster.GetClient().List(r.t.Context(), list, client.MatchingFields{byStep: step}); err != nil {
			return err.Error()
		}
		names = nil
		for i := range list.Items {
			names = append(names, fmt.Sprintf("%s generation %d", list.Items[i].GetName(), list.Items[i].GetGeneration()))
		}
		slices.Sort(names)
		if len(names) != want {
			return fmt.Sprintf("the cache of %s has %q in step %s, want %d", r.kind.Kind, names, step, want)
		}
		return ""
	})
	return names
}

func (r runtimeOf) createAndPatch() {
	r.t.Helper()
	ctx, cl := r.t.Context(), r.cluster.GetClient()
	for i, name := range []string{"a", "b", "c"} {
		object := r.object(name)
		setLabel(object, "step", []string{"1", "1", "2"}[i])
		r.note("create "+name, cl.Create(ctx, object))
	}
	r.note("create again", reason(cl.Create(ctx, r.object("a"))))
	r.note("cached", r.cached("1", 2), r.cached("2", 1))

	object := r.empty()
	object.SetName("a")
	object.SetNamespace(r.object("a").GetNamespace())
	done, err := controllerutil.CreateOrPatch(ctx, cl, object, func() error { setLabel(object, "step", "3"); return nil })
	r.note("create or patch", done, err, r.cached("3", 1))
	done, err = controllerutil.CreateOrUpdate(ctx, cl, object, func() error { setLabel(object, "step", "4"); return nil })
	r.note("create or update", done, err, r.cached("4", 1))
	done, err = controllerutil.CreateOrUpdate(ctx, cl, object, func() error { return nil })
	r.note("nothing to update", done, err)

	stale := object.DeepCopy()
	stale.SetResourceVersion("1")
	r.note("stale update", reason(cl.Update(ctx, stale)))
	before := object.DeepCopy()
	setLabel(object, "step", "5")
	r.note("patch with a lock", cl.Patch(ctx, object, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})), r.cached("5", 1))
	r.note("there is no status", apierrors.IsNotFound(cl.Status().Update(ctx, object)))

	applied := r.object("applied")
	setLabel(applied, "step", "6")
	r.note("apply", cl.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("program")), r.cached("6", 1))
}

func (r runtimeOf) remove() {
	r.t.Helper()
	ctx, cl := r.t.Context(), r.cluster.GetClient()
	options := []client.DeleteAllOfOption{client.HasLabels{"step"}}
	if r.kind.Namespaced {
		options = append(options, client.InNamespace(r.namespace))
	}
	object := r.object("b")
	r.note("delete", cl.Delete(ctx, object), reason(cl.Delete(ctx, object)))
	r.note("one is left", r.cached("1", 0))
	r.note("delete all", cl.DeleteAllOf(ctx, r.empty(), options...), r.cached("2", 0), r.cached("5", 0), r.cached("6", 0))
}

// typed reads into a Go type.
func (r runtimeOf) typed() {
	r.t.Helper()
	ctx, cl := r.t.Context(), r.cluster.GetClient()
	report := &wgpolicy.PolicyReport{ObjectMeta: metav1.ObjectMeta{Name: "typed", Namespace: r.namespace}}
	r.note("create", cl.Create(ctx, report))
	waitSettled(r.t, 100*time.Millisecond, func() string {
		if err := cl.Get(ctx, client.ObjectKeyFromObject(report), report); err != nil {
			return err.Error()
		}
		return ""
	})
	report.Labels = map[string]string{"step": "7"}
	r.note("update", cl.Update(ctx, report), report.Generation)
	waitSettled(r.t, 100*time.Millisecond, func() string {
		list := &wgpolicy.PolicyReportList{}
		if err := cl.List(ctx, list, client.InNamespace(r.namespace)); err != nil || len(list.Items) != 1 || list.Items[0].Labels["step"] != "7" {
			return fmt.Sprintf("%v, %d reports", err, len(list.Items))
		}
		return ""
	})
	r.note("delete", cl.Delete(ctx, report))
}

// reason is the status and the message of an API error.
func reason(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return fmt.Sprint(err)
	}
	return fmt.Sprintf("%d %s %s", status.Status().Code, status.Status().Reason, strings.TrimSpace(status.Status().Message))
}
