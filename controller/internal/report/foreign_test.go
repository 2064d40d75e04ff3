// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// additions are what others add to the report on policy a, and a key of ours that it has not.
const additions = `{"metadata":{
"labels":{"team":"x","docket.dev/policy-namespace":"stale"},"annotations":{"argocd.argoproj.io/tracking-id":"y"},
"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"z"}],"finalizers":["example.com/hold"]}}`

// hasAdditions tells what is missing of them, or nothing.
func hasAdditions(object *unstructured.Unstructured) string {
	switch {
	case object.GetLabels()["team"] != "x":
		return "the label"
	case object.GetAnnotations()["argocd.argoproj.io/tracking-id"] != "y":
		return "the annotation"
	case len(object.GetOwnerReferences()) != 1:
		return "the owner reference"
	case !slices.Equal(object.GetFinalizers(), []string{"example.com/hold"}):
		return "the finalizer"
	default:
		return ""
	}
}

// TestForeignMetadata: what others add to the metadata of a report stays through updates, also
// after a restart and where it is added while we write; a key of ours that is not wanted goes.
func TestForeignMetadata(t *testing.T) {
	t.Parallel()
	const name = "polr-ns-default-a"
	w := startServer(t).world(t, Options{Split: true})
	w.load(t)
	flip := func(w *world, results ...policy.Result) *unstructured.Unstructured {
		w.layout.Set(clusterPolicy("a"), pod("default", "x"), results)
		w.flush(t)
		object := w.get(t, name)
		if got, want := outcome(object), string(results[0].Outcome); got != want {
			t.Fatalf("the result is %q, want %q", got, want)
		}
		return object
	}
	flip(w, pass("r"))

	// The first write meets what was added meanwhile, the second one knows it.
	w.patch(t, additions)
	for _, result := range []policy.Result{fail("r", "m"), pass("r")} {
		object := flip(w, result)
		if missing := hasAdditions(object); missing != "" {
			t.Errorf("after the update to %s %s is gone", result.Outcome, missing)
		}
		if _, ok := object.GetLabels()["docket.dev/policy-namespace"]; ok {
			t.Error("a label of ours that is not wanted is still there")
		}
		if object.GetLabels()[PolicyNameLabel] != "a" || object.GetAnnotations()[PolicyAnnotation] == "" {
			t.Error("our own marks are gone")
		}
	}

	// Somebody is faster than an update.
	faster := sync.OnceFunc(func() { w.patch(t, `{"metadata":{"annotations":{"second":"z"}}}`) })
	w.gateway.set(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPut {
			faster()
		}
		return nil, nil
	})
	if object := flip(w, fail("r", "m")); object.GetAnnotations()["second"] != "z" || hasAdditions(object) != "" {
		t.Errorf("what was added during an update is gone: %v", object.GetAnnotations())
	}

	next := w.server.world(t, Options{Split: true})
	next.load(t)
	if object := flip(next, pass("r")); hasAdditions(object) != "" || object.GetAnnotations()["second"] != "z" {
		t.Errorf("after a restart %s is gone", hasAdditions(object))
	}
}

// TestForeignFinalizer: an obsolete report waits for who holds it, and stands in nobody's way: not
// in that of the reports that replace it, and not in that of its own return.
func TestForeignFinalizer(t *testing.T) {
	t.Parallel()
	const name = "polr-ns-default-a"
	s := startServer(t)
	scan := func(options Options) (*world, func()) {
		w := s.world(t, options)
		w.load(t)
		stop := w.run(t)
		w.layout.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{pass("r")})
		w.prune()
		w.idle(t)
		return w, stop
	}
	_, stop := scan(Options{Split: true})
	stop()
	s.patch(t, additions)
	_, stop = scan(Options{})
	stop()
	held := s.get(t, name)
	if held.GetDeletionTimestamp() == nil || hasAdditions(held) != "" {
		t.Fatalf("the report of the other layout is %v", held.Object["metadata"])
	}
	if got := s.reports(t, WGPolicy); !slices.Contains(got, "default/polr-ns-default") {
		t.Errorf("the new report is not there: %q", got)
	}
	w, stop := scan(Options{Split: true})
	defer stop()
	s.patch(t, `{"metadata":{"finalizers":null}}`)
	testkit.Eventually(t, "the report is made again once the old one is gone", func() bool {
		object, err := w.policyReports().Get(t.Context(), name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false
		}
		return err == nil && object.GetUID() != held.GetUID() && outcome(object) == "pass"
	})
}
