// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cache/contextcache"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func (w *world) maps(name string) string {
	return fmt.Sprintf("resource: {kind: %s, namespace: %s}", name, w.name)
}

// serverError is what an API server with trouble of its own says.
func serverError() error { return apierrors.NewInternalError(errors.New("etcd is away")) }

func TestKindThatAppearsLaterAndGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plural := "gizmos"
	id := w.entry(t, cachedEntries, "e", "resource: {group: later.test, kind: gizmos}")
	cache := w.cache(t)
	isReady(t, cache)
	refuses(t, cache, policy.Query{Entry: id}, id.Name, `no kind or plural "gizmos" in the group "later.test"`, "loads once it is there")
	w.shows(t, cachedEntries, id, contextcache.ReasonInvalid, "loads once it is there")
	w.grows(t, 0, "entries", "invalid")

	w.create(t, crds, customKind("later.test", "Gizmo", plural, "Namespaced", "v1"))
	gets(t, cache, policy.Query{Entry: id, Expression: "[kind, length(items)]"}, []any{"GizmoList", 0.0})
	w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)

	testkit.NoError(t, w.at(crds, "").Delete(t.Context(), plural+".later.test", metav1.DeleteOptions{}))
	refuses(t, cache, policy.Query{Entry: id}, "no kind or plural")
	w.shows(t, cachedEntries, id, contextcache.ReasonInvalid)
}

func TestKindThatSeveralGroupsHave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, group := range []string{"a.twice.test", "b.twice.test"} {
		w.create(t, crds, customKind(group, "Doublet", "doublets", "Cluster", "v1"))
	}
	w.create(t, crds, customKind("core.twice.test", "ConfigMap", "configmaps", "Namespaced", "v1"))
	for _, group := range []string{"a.twice.test", "b.twice.test"} {
		testkit.NoError(t, w.awaitKind(t.Context(), schema.GroupVersionResource{Group: group, Version: "v1", Resource: "doublets"}))
	}
	ambiguous := w.entry(t, cachedEntries, "ambiguous", "resource: {kind: doublets}")
	named := w.entry(t, cachedEntries, "named", "resource: {kind: doublets, group: b.twice.test}")
	short := w.entry(t, cachedEntries, "short", "resource: {kind: tdo, group: apis/a.twice.test/v1}")
	inside := w.entry(t, cachedEntries, "inside", "resource: {kind: doublets, group: b.twice.test, namespace: x}")
	version := w.entry(t, cachedEntries, "version", "resource: {kind: doublets, group: b.twice.test, version: v7}")
	core := w.entry(t, cachedEntries, "core", "resource: {kind: configmaps, namespace: "+w.name+"}")
	w.configMap(t, "one", nil)
	cache := w.cache(t)
	// The preferred group is the first one in discovery.
	preferred := w.firstGroup(t, "a.twice.test", "b.twice.test")
	gets(t, cache, policy.Query{Entry: ambiguous, Expression: "apiVersion"}, preferred+"/v1")
	w.shows(t, cachedEntries, ambiguous, contextcache.ReasonLoaded, preferred+" is used", "set group to one of a.twice.test, b.twice.test")
	if event, _ := testkit.Receive(t, "a warning", w.events.Events); !strings.Contains(event, contextcache.ReasonSeveralGroups) || !strings.Contains(event, preferred+" is used") {
		t.Errorf("the Event %q", event)
	}
	gets(t, cache, policy.Query{Entry: named, Expression: "apiVersion"}, "b.twice.test/v1")
	gets(t, cache, policy.Query{Entry: short, Expression: "apiVersion"}, "a.twice.test/v1")
	refuses(t, cache, policy.Query{Entry: inside}, "in no namespace")
	refuses(t, cache, policy.Query{Entry: version}, "set version to one of v1")
	gets(t, cache, policy.Query{Entry: core, Expression: "items[].metadata.name"}, []any{"one"})
}

// firstGroup returns the group that the API prefers.
func (w *world) firstGroup(tb testing.TB, groups ...string) string {
	tb.Helper()
	client := testkit.Must(discovery.NewDiscoveryClientForConfig(w.config))(tb)
	list := testkit.Must(client.ServerGroups())(tb)
	for i := range list.Groups {
		if slices.Contains(groups, list.Groups[i].Name) {
			return list.Groups[i].Name
		}
	}
	tb.Fatalf("none of %v is served", groups)
	return ""
}

func TestForbiddenResource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", nil)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	w.gate.set("/configmaps", always(forbidden(configMaps)))
	before := w.metric(t, "failures_total", "forbidden")
	cache := w.cache(t)
	refuses(t, cache, policy.Query{Entry: id}, id.Name, "forbidden", "the test says so")
	isReady(t, cache)
	w.shows(t, cachedEntries, id, contextcache.ReasonForbidden, "the test says so")
	w.grows(t, before, "failures_total", "forbidden")
	w.gate.set("", nil)
	gets(t, cache, policy.Query{Entry: id, Expression: "items[].metadata.name"}, []any{"one"})
	w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)
}

func TestEntryObjectsThatMayNotBeListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", nil)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	w.gate.set("/cachedcontextentries", always(forbidden(cachedEntries)))
	before := w.metric(t, "failures_total", "forbidden")
	cache := w.cache(t)
	isReady(t, cache)
	refuses(t, cache, policy.Query{Entry: id}, "can't be found", "forbidden")
	w.grows(t, before, "failures_total", "forbidden")
	w.gate.set("", nil)
	gets(t, cache, policy.Query{Entry: id, Expression: "items[].metadata.name"}, []any{"one"})
}

// Kyverno's GlobalContextEntry serves old data forever after one failed list.
func TestEntryRecoversFromAFailedRelist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", nil)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	cache := w.cache(t)
	names := policy.Query{Entry: id, Expression: "items[].metadata.name"}
	gets(t, cache, names, []any{"one"})
	failuresBefore := w.metric(t, "refreshes_total", "resource", "failure")
	// The watch has expired, and the list that has to follow fails.
	var lists atomic.Int64
	w.gate.set("/"+w.name+"/configmaps", func(r *http.Request) error {
		if r.URL.Query().Has("watch") {
			return apierrors.NewResourceExpired("too old")
		}
		lists.Add(1)
		return serverError()
	})
	w.configMap(t, "two", nil)
	w.shows(t, cachedEntries, id, contextcache.ReasonFailing, "still served", "etcd is away")
	gets(t, cache, names, []any{"one"}) // As of before, for as long as MaxStale.
	w.grows(t, failuresBefore, "refreshes_total", "resource", "failure")
	w.grows(t, 0, "staleness_seconds", id.Name)
	if lists.Load() == 0 {
		t.Error("no list has failed")
	}
	w.gate.set("", nil)
	gets(t, cache, names, []any{"one", "two"})
	w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)
}

func TestDataThatAreTooOldAreAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", nil)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	cache := w.cache(t, func(c *contextcache.Config) { c.MaxStale = 100 * time.Millisecond })
	subscriber := &told{entries: map[policy.Entry]bool{}}
	names := policy.Query{Entry: id, Expression: "items[].metadata.name"}
	gets(t, cache, names, []any{"one"})
	w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)
	defer cache.Subscribe(subscriber.tell)()
	w.gate.set("/"+w.name+"/configmaps", always(serverError()))
	refuses(t, cache, names, "too old", "no success since 20", "etcd is away")
	w.shows(t, cachedEntries, id, contextcache.ReasonStale, "no success since 20")
	subscriber.awaits(t, true, id)
	w.grows(t, 0, "entries", "stale")
	subscriber.forget()
	w.gate.set("", nil)
	gets(t, cache, names, []any{"one"})
	subscriber.awaits(t, true, id)
}

func TestListThatHangsMakesDataOld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", nil)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	cache := w.cache(t, func(c *contextcache.Config) { c.MaxStale = 100 * time.Millisecond })
	names := policy.Query{Entry: id, Expression: "items[].metadata.name"}
	gets(t, cache, names, []any{"one"})
	w.configMap(t, "two", nil)
	gets(t, cache, names, []any{"one", "two"}) // So the watch is open, and can expire.
	release := make(chan struct{})
	w.gate.set("/"+w.name+"/configmaps", func(r *http.Request) error {
		if r.URL.Query().Has("watch") {
			return apierrors.NewResourceExpired("too old")
		}
		select {
		case <-release:
			return serverError()
		case <-r.Context().Done():
			return r.Context().Err()
		}
	})
	refuses(t, cache, names, "too old", "list that has to follow is not complete")
	w.shows(t, cachedEntries, id, contextcache.ReasonStale)
	w.configMap(t, "three", nil)
	w.gate.set("", nil)
	close(release)
	gets(t, cache, names, []any{"one", "three", "two"})
}

func TestAPIServerRestart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", nil)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	cache := w.cache(t)
	other := w.entry(t, cachedEntries, "other", w.maps("secrets"))
	names := policy.Query{Entry: id, Expression: "items[].metadata.name"}
	gets(t, cache, names, []any{"one"})
	gets(t, cache, policy.Query{Entry: other, Expression: "kind"}, "SecretList")
	w.gate.set("", always(errors.New("connection refused")))
	w.configMap(t, "two", nil)
	testkit.NoError(t, w.at(cachedEntries, "").Delete(t.Context(), other.Name, metav1.DeleteOptions{}))
	third := w.entry(t, cachedEntries, "third", w.maps("configmaps"))
	gets(t, cache, names, []any{"one"})
	w.gate.set("", nil)
	gets(t, cache, names, []any{"one", "two"})
	gets(t, cache, policy.Query{Entry: third, Expression: "items[].metadata.name"}, []any{"one", "two"})
	refuses(t, cache, policy.Query{Entry: other}, "there is no")
	w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)
}

func TestReplicasSeeTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	replicas := []*contextcache.Cache{w.cache(t), w.cache(t)}
	for i := range 3 {
		w.configMap(t, fmt.Sprint("m", i), nil)
		for _, cache := range replicas {
			gets(t, cache, policy.Query{Entry: id, Expression: "length(items)"}, float64(i+1))
		}
	}
	w.shows(t, cachedEntries, id, contextcache.ReasonLoaded)
	// Both write the status here, and come to rest.
	var version string
	since := time.Now()
	eventually(t, func() error {
		object, err := w.at(cachedEntries, "").Get(t.Context(), id.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if object.GetResourceVersion() != version {
			version, since = object.GetResourceVersion(), time.Now()
		}
		if time.Since(since) < 3*time.Second {
			return fmt.Errorf("the status was written %s ago", time.Since(since))
		}
		return nil
	})
}

func TestQueryWaitsForLoadingAsLongAsItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.configMap(t, "one", nil)
	id := w.entry(t, cachedEntries, "e", w.maps("configmaps"))
	w.gate.set("/"+w.name+"/configmaps", always(serverError()))
	cache := w.cache(t)
	if err := cache.Ready(); err == nil {
		t.Error("ready before anything is loaded")
	}
	eventually(t, func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := cache.Query(ctx, policy.Query{Entry: id})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "still loading") || !strings.Contains(err.Error(), "etcd is away") {
			return fmt.Errorf("not this: %w", err)
		}
		return nil
	})
	eventually(t, func() error {
		if err := cache.Ready(); err == nil || !strings.Contains(err.Error(), id.Name) {
			return fmt.Errorf("ready says %w", err)
		}
		return nil
	})
	done := make(chan error, 1)
	go func() {
		got, err := query(t, cache, policy.Query{Entry: id, Expression: "length(items)"})
		if err == nil && got != 1.0 {
			err = fmt.Errorf("got %v", got)
		}
		done <- err
	}()
	w.gate.set("", nil)
	if err := <-done; err != nil {
		t.Error(err)
	}
	isReady(t, cache)
}

func TestConfigThatCannotWork(t *testing.T) {
	t.Parallel()
	if _, err := contextcache.New(contextcache.Config{}); err == nil {
		t.Error("no error")
	}
	w := newWorld(t)
	client, err := dynamic.NewForConfig(w.config)
	if err != nil {
		t.Fatal(err)
	}
	_, err = contextcache.New(contextcache.Config{Client: client, REST: &rest.RESTClient{}, Engine: engine(), Clock: clock.RealClock{}})
	if err == nil || !strings.Contains(err.Error(), "Config.Served") {
		t.Error(err)
	}
}

// large writes a ConfigMap of some size.
func (w *world) large(tb testing.TB, gvr schema.GroupVersionResource, name string, size int) {
	tb.Helper()
	kind := map[string]string{"configmaps": "ConfigMap", "secrets": "Secret"}[gvr.Resource]
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": kind, "metadata": map[string]any{"name": name, "namespace": w.name},
	}}
	text := strings.Repeat("eA==", size/4)
	if kind == "Secret" {
		object.Object["stringData"] = map[string]any{"k": text}
	} else {
		object.Object["data"] = map[string]any{"k": text}
	}
	w.create(tb, gvr, object)
}
