// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func (s *server) get(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	return testkit.Must(s.policyReports().Get(t.Context(), name, metav1.GetOptions{}))(t)
}

// patch changes the report on policy a behind the writer's back.
func (s *server) patch(t *testing.T, patch string) {
	t.Helper()
	testkit.Must(s.policyReports().Patch(t.Context(), "polr-ns-default-a", types.MergePatchType, []byte(patch), metav1.PatchOptions{}))(t)
}

func (s *server) create(t *testing.T, name string, labels map[string]any) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wgpolicyk8s.io/v1alpha2", "kind": "PolicyReport", "metadata": map[string]any{"name": name, "labels": labels},
	}}
	testkit.Must(s.policyReports().Create(t.Context(), object, metav1.CreateOptions{}))(t)
}

// outcome returns the result of a report with one, or nothing.
func outcome(object *unstructured.Unstructured) string {
	results, _, _ := unstructured.NestedSlice(object.Object, "results")
	if len(results) != 1 {
		return ""
	}
	result, _ := results[0].(map[string]any)
	text, _ := result["result"].(string)
	return text
}

// TestRepairs: a report that somebody changed, deleted or took the label from is written
// again; one that somebody made with our label goes.
func TestRepairs(t *testing.T) {
	t.Parallel()
	w := startServer(t).world(t, Options{Split: true})
	w.load(t)
	stop := w.run(t)
	w.layout.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{pass("r")})
	w.prune()
	const name = "polr-ns-default-a"
	w.idle(t)
	fine := func() bool {
		object, err := w.policyReports().Get(t.Context(), name, metav1.GetOptions{})
		return err == nil && outcome(object) == "pass" && object.GetLabels()[ManagedByLabel] == Manager
	}
	testkit.Eventually(t, "the report is there", fine)

	w.patch(t, `{"results":null}`)
	testkit.Eventually(t, "a changed report is repaired", fine)

	before := w.get(t, name).GetUID()
	testkit.NoError(t, w.policyReports().Delete(t.Context(), name, metav1.DeleteOptions{}))
	testkit.Eventually(t, "a deleted report is made again", fine)
	if w.get(t, name).GetUID() == before {
		t.Error("the report was not deleted")
	}

	w.patch(t, `{"metadata":{"labels":{"team":"a"}}}`)
	version := w.get(t, name).GetResourceVersion()
	w.create(t, "stranger", map[string]any{ManagedByLabel: Manager})
	testkit.Eventually(t, "a report of nobody goes", func() bool {
		_, err := w.policyReports().Get(t.Context(), "stranger", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	w.idle(t)
	if object := w.get(t, name); object.GetResourceVersion() != version || object.GetLabels()["team"] != "a" {
		t.Error("a label that somebody added made us write the report")
	}

	w.patch(t, `{"metadata":{"labels":{"`+ManagedByLabel+`":null}}}`)
	testkit.Eventually(t, "a report without our label is reported as foreign", func() bool {
		_, err := w.writer.Pending()
		return errors.Is(err, errForeign)
	})
	stop()
	if object := w.get(t, name); object.GetLabels()[ManagedByLabel] != "" {
		t.Error("we took a report that is not ours any more")
	}
}

// TestConflicts: somebody who changes a report at the same time is overruled by Flush, unless
// the report is not ours any more.
func TestConflicts(t *testing.T) {
	t.Parallel()
	w := startServer(t).world(t, Options{Split: true})
	w.load(t)
	const name = "polr-ns-default-a"
	set := func(result policy.Result) {
		w.layout.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{result})
	}
	set(pass("r"))
	w.flush(t)
	w.patch(t, `{"results":null}`)
	set(fail("r", "m"))
	w.flush(t)
	if got := outcome(w.get(t, name)); got != "fail" {
		t.Errorf("after a conflict the result is %q", got)
	}
	testkit.NoError(t, w.policyReports().Delete(t.Context(), name, metav1.DeleteOptions{}))
	set(pass("r"))
	w.flush(t)
	if got := outcome(w.get(t, name)); got != "pass" {
		t.Errorf("after a deletion the result is %q", got)
	}
	// Another writer, such as the leader before, has made the report, unknown to us.
	other := w.server.world(t, Options{Split: true})
	other.layout.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{fail("r", "m")})
	other.flush(t)
	if got := outcome(w.get(t, name)); got != "fail" {
		t.Errorf("after another writer the result is %q", got)
	}
	// A deletion has our version in mind, but a change by others does not save the report.
	w.layout.RemovePolicy(clusterPolicy("a"))
	w.flush(t)
	if got := w.reports(t, WGPolicy); len(got) > 0 {
		t.Errorf("after the policy went there are %q", got)
	}
	set(pass("r"))
	w.flush(t)
	w.patch(t, `{"metadata":{"labels":{"`+ManagedByLabel+`":"me"}}}`)
	w.layout.RemovePolicy(clusterPolicy("a"))
	w.flush(t)
	if got := w.get(t, name).GetLabels()[ManagedByLabel]; got != "me" {
		t.Error("a report that was not ours any more was deleted")
	}
}

// TestForeign: a report of our name that is not ours is left alone, and taken once it is.
func TestForeign(t *testing.T) {
	t.Parallel()
	w := startServer(t).world(t, Options{Split: true})
	w.create(t, "polr-ns-default-a", map[string]any{ManagedByLabel: "kyverno"})
	w.load(t)
	w.layout.Set(clusterPolicy("a"), pod("default", "x"), []policy.Result{pass("r")})
	w.layout.Set(clusterPolicy("b"), pod("default", "x"), []policy.Result{pass("r")})
	if err := w.writer.Flush(t.Context()); !errors.Is(err, errForeign) || !strings.Contains(err.Error(), "default/polr-ns-default-a") {
		t.Errorf("the error is %v", err)
	}
	if object := w.get(t, "polr-ns-default-a"); outcome(object) != "" || object.GetLabels()[ManagedByLabel] != "kyverno" {
		t.Error("a report of somebody else was changed")
	}
	if outcome(w.get(t, "polr-ns-default-b")) != "pass" {
		t.Error("another report was not written")
	}
	w.patch(t, `{"metadata":{"labels":{"`+ManagedByLabel+`":"`+Manager+`"}}}`)
	w.flush(t)
	if outcome(w.get(t, "polr-ns-default-a")) != "pass" {
		t.Error("a report that was handed over was not written")
	}
}

// TestRefused: a quota or a missing namespace stops the reports that it is about and no other;
// they are written when it is gone.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := startServer(t).world(t, Options{Split: true})
	w.namespace(t, "full")
	w.load(t)
	var refused atomic.Int64
	w.gateway.set(func(request *http.Request) (*http.Response, error) {
		if request.Method == http.MethodPost && strings.Contains(request.URL.Path, "/namespaces/full/") {
			refused.Add(1)
			return refusal(request, http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota: reports"), nil
		}
		return nil, nil
	})
	w.run(t)
	for _, namespace := range []string{"full", "missing", "default"} {
		w.layout.Set(clusterPolicy("a"), pod(namespace, "x"), []policy.Result{pass("r")})
	}
	testkit.Eventually(t, "the other report is written", func() bool {
		return slices.Contains(w.reports(t, WGPolicy), "default/polr-ns-default-a")
	})
	testkit.Eventually(t, "two reports can't be written", func() bool {
		_, err := w.writer.Pending()
		return err != nil && strings.Contains(err.Error(), "exceeded quota") && strings.Contains(err.Error(), `namespaces "missing" not found`)
	})
	testkit.Eventually(t, "the refused write is retried", func() bool { return refused.Load() > 1 })
	w.gateway.set(nil)
	w.namespace(t, "missing")
	testkit.Eventually(t, "all are written", func() bool { return len(w.reports(t, WGPolicy)) == 3 })
	w.idle(t)
	if _, err := w.writer.Pending(); err != nil {
		t.Errorf("the error stays: %v", err)
	}
}

// TestServerAway: while no request comes through nothing is lost, and few are made.
func TestServerAway(t *testing.T) {
	t.Parallel()
	w := startServer(t).world(t, Options{Split: true, MaxResults: 1})
	w.load(t)
	w.run(t)
	var requests atomic.Int64
	w.gateway.set(func(*http.Request) (*http.Response, error) {
		requests.Add(1)
		return nil, errors.New("connection refused")
	})
	for i := range 50 {
		w.layout.Set(clusterPolicy("a"), pod("default", string(rune('0'+i))), []policy.Result{pass("r")})
	}
	testkit.Eventually(t, "the server is missed", func() bool { return requests.Load() > 8 })
	if n, err := w.writer.Pending(); n != 50 || err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("%d reports wait, error %v", n, err)
	}
	if n := requests.Load(); n > 40 {
		t.Errorf("%d requests while the server was away", n)
	}
	w.layout.RemovePolicy(clusterPolicy("b"))
	w.gateway.set(nil)
	testkit.Eventually(t, "all is written", func() bool { return len(w.reports(t, WGPolicy)) == 50 })
	w.idle(t)
}

// TestFlushGivesUp: a server that does not answer costs one batch, not one try a report.
func TestFlushGivesUp(t *testing.T) {
	t.Parallel()
	w := startServer(t).world(t, Options{Split: true, MaxResults: 1})
	w.load(t)
	var requests atomic.Int64
	w.gateway.set(func(*http.Request) (*http.Response, error) {
		requests.Add(1)
		return nil, errors.New("connection refused")
	})
	for i := range 50 {
		w.layout.Set(clusterPolicy("a"), pod("default", string(rune('0'+i))), []policy.Result{pass("r")})
	}
	if err := w.writer.Flush(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("the error is %v", err)
	}
	if n := requests.Load(); n > 2*parallel {
		t.Errorf("%d requests to a server that is away", n)
	}
	w.gateway.set(nil)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.writer.Flush(canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled flush: %v", err)
	}
	w.flush(t)
	if n := len(w.reports(t, WGPolicy)); n != 50 {
		t.Errorf("%d reports in the end", n)
	}
	config, _ := w.through()
	config.Timeout = time.Second
	if _, err := NewWriter(Config{REST: config}); err == nil {
		t.Error("a writer without a layout")
	}
}
