// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package filescan_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// server is an API server as far as a scan needs one: discovery and lists.
type server struct {
	mu sync.Mutex
	// lists has the objects by the path of their list, versions the served ones of each group,
	// preferred first.
	lists    map[string][]map[string]any
	versions map[string][]string
	// kinds by group version.
	kinds map[string][]metav1.APIResource
	// refuse has paths that are forbidden; expire is how often a second page is too late.
	refuse map[string]bool
	expire int
	asked  []string
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/")
	switch {
	case s.refuse[path]:
		reply(w, http.StatusForbidden, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "no list for you"})
	case r.URL.Path == "/api":
		reply(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case r.URL.Path == "/apis":
		reply(w, http.StatusOK, s.groups())
	case s.kinds[path] != nil:
		reply(w, http.StatusOK, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: path, APIResources: s.kinds[path]})
	default:
		s.list(w, r, path)
	}
}

func (s *server) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for group, versions := range s.versions {
		one := metav1.APIGroup{Name: group}
		for _, version := range versions {
			one.Versions = append(one.Versions, metav1.GroupVersionForDiscovery{GroupVersion: group + "/" + version, Version: version})
		}
		one.PreferredVersion = one.Versions[0]
		slices.Reverse(one.Versions) // Clients must look at the preferred one.
		list.Groups = append(list.Groups, one)
	}
	return list
}

func (s *server) list(w http.ResponseWriter, r *http.Request, path string) {
	s.asked = append(s.asked, path)
	all, ok := s.lists[path]
	if !ok {
		reply(w, http.StatusNotFound, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
		return
	}
	start, _ := strconv.Atoi(strings.TrimSuffix(r.URL.Query().Get("continue"), "-later"))
	if start > 0 && s.expire > 0 {
		s.expire--
		reply(w, http.StatusGone, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
			Status:   "Failure", Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
			ListMeta: metav1.ListMeta{Continue: fmt.Sprintf("%d-later", start)},
		})
		return
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	end := min(len(all), start+limit)
	list := map[string]any{"apiVersion": "v1", "kind": "List", "metadata": map[string]any{}, "items": all[start:end]}
	if end < len(all) {
		list["metadata"] = map[string]any{"continue": strconv.Itoa(end)}
	}
	reply(w, http.StatusOK, list)
}

func reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // the client notices
}

func namedObject(apiVersion, kind, namespace, name string) map[string]any {
	metadata := map[string]any{"name": name, "uid": kind + namespace + name, "managedFields": []any{map[string]any{"manager": "x"}}, "annotations": map[string]any{policy.LastApplied: "{}"}}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}

func resource(name, kind string, namespaced bool) metav1.APIResource {
	return metav1.APIResource{Name: name, Kind: kind, Namespaced: namespaced, Verbs: metav1.Verbs{"get", "list"}}
}

// newServer has 1,200 pods, two versions of a kind, and kinds that no scan is about.
func newServer() *server {
	s := &server{
		lists: map[string][]map[string]any{
			"v1/namespaces":                            {namedObject("v1", "Namespace", "", "shop"), namedObject("v1", "Namespace", "", "other")},
			"v1/nodes":                                 {namedObject("v1", "Node", "", "n1")},
			"v1/events":                                {namedObject("v1", "Event", "shop", "e1")},
			"apps/v1/deployments":                      {namedObject("apps/v1", "Deployment", "shop", "web")},
			"apps/v1/namespaces/shop/deployments":      {namedObject("apps/v1", "Deployment", "shop", "web")},
			"apps/v1beta1/deployments":                 {namedObject("apps/v1beta1", "Deployment", "shop", "web")},
			"apps/v1beta1/namespaces/shop/deployments": {namedObject("apps/v1beta1", "Deployment", "shop", "web")},
			"kyverno.io/v1/clusterpolicies":            {namedObject("kyverno.io/v1", "ClusterPolicy", "", "p")},
		},
		versions: map[string][]string{"apps": {"v1", "v1beta1"}, "kyverno.io": {"v1"}},
		kinds: map[string][]metav1.APIResource{
			"v1": {
				resource("namespaces", "Namespace", false), resource("nodes", "Node", false), resource("pods", "Pod", true),
				resource("events", "Event", true), {Name: "pods/log", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}},
				{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
			},
			"apps/v1":       {resource("deployments", "Deployment", true)},
			"apps/v1beta1":  {resource("deployments", "Deployment", true)},
			"kyverno.io/v1": {resource("clusterpolicies", "ClusterPolicy", false)},
		},
		refuse: map[string]bool{},
	}
	s.lists["v1/namespaces"][0]["metadata"].(map[string]any)["labels"] = map[string]any{"env": "prod"}
	for i := range 1200 {
		pod := namedObject("v1", "Pod", []string{"shop", "other"}[i%2], fmt.Sprintf("p%04d", i))
		s.lists["v1/pods"] = append(s.lists["v1/pods"], pod)
		if i%2 == 0 {
			s.lists["v1/namespaces/shop/pods"] = append(s.lists["v1/namespaces/shop/pods"], pod)
		}
	}
	return s
}

// open returns the source for a server.
func (s *server) open(t *testing.T, namespaces ...string) *filescan.Cluster {
	t.Helper()
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	config := &rest.Config{Host: listener.URL, QPS: -1}
	client := testkit.Must(dynamic.NewForConfig(config))(t)
	lister := testkit.Must(discovery.NewDiscoveryClientForConfig(config))(t)
	return testkit.Must(filescan.NewCluster(client, lister, namespaces))(t)
}

// visited counts what policies are evaluated for.
func visited(t *testing.T, cluster *filescan.Cluster, policies []policy.Policy) (map[string]int, error) {
	t.Helper()
	counts := map[string]int{}
	err := cluster.Each(t.Context(), policies, func(item filescan.Item) error {
		for _, p := range item.Policies {
			counts[p.Identity().Name+" "+item.Subject.Resource.String()]++
		}
		if len(item.Subject.Object.GetManagedFields()) > 0 {
			t.Errorf("%s has managed fields", item.Subject.Object.GetName())
		}
		if annotations := item.Subject.Object.GetAnnotations(); len(annotations) > 0 {
			t.Errorf("%s has the annotations %v", item.Subject.Object.GetName(), annotations)
		}
		if namespace := item.Subject.Object.GetNamespace(); namespace == "shop" && item.Subject.NamespaceLabels["env"] != "prod" {
			t.Errorf("%s has the namespace labels %v", item.Subject.Object.GetName(), item.Subject.NamespaceLabels)
		} else if namespace == "shop" && item.Subject.NamespaceObject.GetUID() == "" {
			t.Errorf("%s has the namespace %+v", item.Subject.Object.GetName(), item.Subject.NamespaceObject)
		}
		return nil
	})
	return counts, err
}

const clusterPolicies = `
{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: pods}, spec: {kinds: [Pod]}}
---
{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: workloads}, spec: {kinds: [Pod, Deployment]}}
---
{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: old}, spec: {kinds: [apps/v1beta1/Deployment]}}
---
{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: events}, spec: {kinds: [Event, Binding]}}
---
{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: nodes}, spec: {kinds: [Node]}}
`

// TestClusterListsWhatPoliciesMatch: each kind in pages, in the preferred version or the one
// that a policy names, with no list of anything else, and everything once also if a page
// comes too late.
func TestClusterListsWhatPoliciesMatch(t *testing.T) {
	t.Parallel()
	for _, expire := range []int{0, 1} {
		s := newServer()
		s.expire = expire
		counts := testkit.Must(visited(t, s.open(t), compile(t, clusterPolicies)))(t)
		want := map[string]int{
			"pods /v1, Resource=pods": 1200, "workloads /v1, Resource=pods": 1200, "workloads apps/v1, Resource=deployments": 1,
			"old apps/v1beta1, Resource=deployments": 1, "nodes /v1, Resource=nodes": 1,
		}
		testkit.NoDiff(t, cmp.Diff(want, counts), "evaluations (-want +got)")
		pages := map[string]int{}
		for _, path := range s.asked {
			pages[path]++
		}
		wantPages := map[string]int{"v1/namespaces": 1, "v1/pods": 3 + expire, "v1/nodes": 1, "apps/v1/deployments": 1, "apps/v1beta1/deployments": 1}
		testkit.NoDiff(t, cmp.Diff(wantPages, pages), "requests (-want +got)")
	}
}

func TestClusterWithNamespaces(t *testing.T) {
	t.Parallel()
	cluster := newServer().open(t, "shop")
	counts := testkit.Must(visited(t, cluster, compile(t, clusterPolicies)))(t)
	want := map[string]int{
		"pods /v1, Resource=pods": 600, "workloads /v1, Resource=pods": 600, "workloads apps/v1, Resource=deployments": 1,
		"old apps/v1beta1, Resource=deployments": 1,
	}
	testkit.NoDiff(t, cmp.Diff(want, counts), "evaluations (-want +got)")
	for namespace, want := range map[string]bool{"shop": true, "other": false, "": false} {
		if cluster.Covers(policy.Reference{APIVersion: "v1", Kind: "Pod", Namespace: namespace}) != want {
			t.Errorf("namespace %q is covered: %v", namespace, !want)
		}
	}
	if cluster.Complete() {
		t.Error("one namespace claims to be the cluster")
	}
}

// TestForbiddenKind: the others are evaluated, the error names it, and its stored results stay.
func TestForbiddenKind(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.refuse["v1/pods"] = true
	cluster := s.open(t)
	counts, err := visited(t, cluster, compile(t, clusterPolicies))
	var incomplete *filescan.IncompleteError
	if !errors.As(err, &incomplete) || !strings.Contains(err.Error(), "list pods: no list for you") {
		t.Errorf("error %v", err)
	}
	if counts["workloads apps/v1, Resource=deployments"] != 1 || counts["pods /v1, Resource=pods"] != 0 {
		t.Errorf("evaluations: %v", counts)
	}
	if cluster.Covers(policy.Reference{APIVersion: "v1", Kind: "Pod", Namespace: "shop"}) {
		t.Error("pods that could not be listed are covered")
	}
	if !cluster.Covers(policy.Reference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop"}) {
		t.Error("deployments are not covered")
	}
}

// TestRunAfterAnIncompleteList: the resources that arrived are evaluated, and the error is returned.
func TestRunAfterAnIncompleteList(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.refuse["v1/pods"] = true
	findings := filescan.NewFindings(false)
	err := filescan.Run(t.Context(), s.open(t), compile(t, clusterPolicies), filescan.Options{Findings: findings})
	var incomplete *filescan.IncompleteError
	if !errors.As(err, &incomplete) || findings.Resources() != 3 {
		t.Errorf("%d resources and the error %v", findings.Resources(), err)
	}
}

// TestDiscoveryOfAGroupFails: an API service that is away doesn't hide the others.
func TestDiscoveryOfAGroupFails(t *testing.T) {
	t.Parallel()
	s := newServer()
	s.versions["away.example.com"] = []string{"v1"}
	cluster := s.open(t)
	counts, err := visited(t, cluster, compile(t, clusterPolicies))
	var incomplete *filescan.IncompleteError
	if !errors.As(err, &incomplete) || !strings.Contains(err.Error(), "away.example.com") || counts["pods /v1, Resource=pods"] != 1200 {
		t.Errorf("error %v, evaluations %v", err, counts)
	}
	if cluster.Covers(policy.Reference{APIVersion: "away.example.com/v1", Kind: "X", Namespace: "shop"}) {
		t.Error("the group that is away is covered")
	}
}

func TestNoClusterThere(t *testing.T) {
	t.Parallel()
	config := &rest.Config{Host: fmt.Sprintf("http://127.0.0.1:%d", testenv.FreePort(t))}
	client := testkit.Must(dynamic.NewForConfig(config))(t)
	lister := testkit.Must(discovery.NewDiscoveryClientForConfig(config))(t)
	if _, err := filescan.NewCluster(client, lister, nil); err == nil {
		t.Error("a cluster that is not there has no error")
	}
}

func TestPoliciesOfACluster(t *testing.T) {
	t.Parallel()
	s := newServer()
	objects, err := s.open(t).Objects(t.Context(), policy.Kinds())
	if err != nil || len(objects) != 1 || objects[0].GetName() != "p" {
		t.Errorf("policies %v, %v", objects, err)
	}
	s.refuse["kyverno.io/v1/clusterpolicies"] = true
	if _, err := s.open(t).Objects(t.Context(), policy.Kinds()); err == nil || !strings.Contains(err.Error(), "clusterpolicies.kyverno.io") {
		t.Errorf("policies that are forbidden: %v", err)
	}
}

func TestClusterStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	visits := 0
	err := newServer().open(t).Each(ctx, compile(t, clusterPolicies), func(filescan.Item) error {
		visits++
		cancel()
		return ctx.Err()
	})
	if !errors.Is(err, context.Canceled) || visits != 1 {
		t.Errorf("%d visits and %v", visits, err)
	}
}
