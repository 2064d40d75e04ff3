// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/certificate/rotation"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// endingNamespace answers for a namespace that a test deletes.
type endingNamespace struct {
	*corev1.Namespace

	ended chan struct{}
	gone  atomic.Bool
}

func newEndingNamespace(name string) *endingNamespace {
	return &endingNamespace{ended: make(chan struct{}), Namespace: &corev1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: name, UID: "u", ResourceVersion: "5"},
	}}
}

func (n *endingNamespace) end() {
	n.gone.Store(true)
	close(n.ended)
}

// serve answers what admission and the sweeper ask about namespaces.
func (n *endingNamespace) serve(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case r.URL.Path == "/api/v1/namespaces" && r.URL.Query().Get("watch") != "":
		n.watch(w, r)
	case r.URL.Path == "/api/v1/namespaces":
		reply(w, &corev1.NamespaceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NamespaceList"}, ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.Namespace{*n.Namespace}})
	case r.URL.Path != "/api/v1/namespaces/"+n.Name:
		return false
	case n.gone.Load():
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		reply(w, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
			Details: &metav1.StatusDetails{Kind: "namespaces", Name: n.Name},
		})
	default:
		reply(w, n.Namespace)
	}
	return true
}

func (n *endingNamespace) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	event := func(kind string, object any) {
		reply(w, map[string]any{"type": kind, "object": object})
		w.(http.Flusher).Flush()
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		event("ADDED", n.Namespace)
		event("BOOKMARK", map[string]any{"kind": "Namespace", "apiVersion": "v1", "metadata": map[string]any{
			"resourceVersion": "5", "annotations": map[string]string{metav1.InitialEventsAnnotationKey: "true"},
		}})
	} else {
		w.(http.Flusher).Flush()
	}
	select {
	case <-n.ended:
		event("DELETED", n.Namespace)
		<-r.Context().Done()
	case <-r.Context().Done():
	}
}

// TestCustomResourcesInCluster: groups of definitions are treated as those of reports, also if they come while the
// server runs: checks of the registration, certificates, and objects of namespaces that ended.
func TestCustomResourcesInCluster(t *testing.T) {
	t.Parallel()
	cluster, namespace, now := newTrustingCluster(), newEndingNamespace("a"), clocktesting.NewFakeClock(time.Now())
	for _, name := range []string{"v1.example.com", "v1beta1.example.com", "v1.other.example.com"} {
		service := cluster.services["v1.reports.kyverno.io"].DeepCopy()
		service.SetName(name)
		cluster.services[name] = service
	}
	cluster.extra = func(w http.ResponseWriter, r *http.Request) bool { return namespace.serve(w, r) || cluster.serve(w, r) }
	file, option := withDefinitions(t)
	options := clusterOptions(t, cluster.start(t))
	option(options)
	options.Certificate.Secret, options.Certificate.Namespace, options.Certificate.Clock = "docket-serving", "docket-system", now
	completed := testkit.Must(testkit.Must(options.Complete().Config(t.Context()))(t).Complete())(t)
	trusts := func(name string) bool {
		cluster.mu.Lock()
		defer cluster.mu.Unlock()
		bundle, _, _ := unstructured.NestedString(cluster.services[name].Object, "spec", "caBundle")
		return bundle != ""
	}
	if !trusts("v1.example.com") || !trusts("v1beta1.example.com") || trusts("v1.other.example.com") {
		t.Error("the first caBundles are not just those of what the files say")
	}
	s := runServer(t, testkit.Must(completed.New(t.Context()))(t))

	before := string(testkit.Must(os.ReadFile(file))(t))
	testkit.NoError(t, os.WriteFile(file, []byte(before+"\n---\n"+strings.ReplaceAll(before, "example.com", "other.example.com")), 0o600))
	served := func(version string) error {
		_, _, shown := send(t, s, "GET", "/registration", "")
		group, version := "example.com", version
		if g, v, ok := strings.Cut(version, "/"); ok {
			group, version = g, v
		}
		if !strings.Contains(shown, fmt.Sprintf("\"group\": %q,\n      \"version\": %q", group, version)) {
			return fmt.Errorf("%s/%s is not in /registration: %s", group, version, shown)
		}
		return nil
	}
	testkit.Succeeds(t, "the registration of each version is checked", func() error {
		return errors.Join(served("v1"), served("v1beta1"), served("other.example.com/v1"))
	})
	testkit.Eventually(t, "the APIService of a group that has come trusts the server", func() bool {
		now.Step(rotation.SecretInterval)
		return trusts("v1.other.example.com")
	})
	for group, others := range map[string]string{"example.com": "other.example.com", "other.example.com": "wgpolicyk8s.io"} {
		code, _, shown := send(t, s, "GET", "/bootstrap/"+group, "")
		if code != http.StatusOK || strings.Count(shown, "kind: APIService\n") != 2 || !strings.Contains(shown, "name: v1beta1."+group) || strings.Contains(shown, others) {
			t.Errorf("/bootstrap/%s: %d %s", group, code, shown)
		}
	}

	ask(t, s, 201, "POST", widgets("v1"), widget+`{"color":"red"}}`)
	other := strings.ReplaceAll(widgets("v1"), "example.com", "other.example.com")
	ask(t, s, 201, "POST", other, strings.ReplaceAll(widget, "example.com", "other.example.com")+`{"color":"red"}}`)
	if used := testkit.Must(s.Namespaces(t.Context()))(t); len(used) != 1 || used[0] != "a" {
		t.Errorf("namespaces with objects: %v", used)
	}
	namespace.end()
	testkit.Eventually(t, "the namespace has no objects", func() bool {
		one, _, _ := send(t, s, "GET", widgets("v1")+"/w", "")
		two, _, _ := send(t, s, "GET", other+"/w", "")
		return one == http.StatusNotFound && two == http.StatusNotFound
	})
	testkit.NoError(t, os.WriteFile(file, []byte(before), 0o600))
	testkit.Eventually(t, "the group that has gone is not registered", func() bool {
		code, _, _ := send(t, s, "GET", "/bootstrap/other.example.com", "")
		return code == http.StatusNotFound && served("other.example.com/v1") != nil
	})
}
