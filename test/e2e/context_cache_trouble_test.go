// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// badEntry is an entry that can't be used.
type badEntry struct {
	spec string
	// reason is the reason of the condition Ready, text is in its message and in results.
	reason, text string
}

// badServices are unusable services. The server at the address shows one kind of trouble at each path.
func badServices(address, authority, other string) map[string]badEntry {
	call := func(path string) string {
		return fmt.Sprintf("{apiCall: {url: %s%s, refreshIntervalSeconds: 1, caBundle: %q}}", address, path, authority)
	}
	return map[string]badEntry{
		"server-hangs":    {call("/hang"), "Failing", ""},
		"server-fails":    {call("/500"), "Failing", "500"},
		"server-html":     {call("/html"), "Failing", "text/html"},
		"server-huge":     {call("/huge"), "Failing", "has more than"},
		"server-redirect": {call("/metadata"), "Failing", "169.254.169.254"},
		"wrong-authority": {fmt.Sprintf("{apiCall: {url: %s/good, refreshIntervalSeconds: 1, caBundle: %q}}", address, other), "Failing", "certificate"},
		"no-authority":    {fmt.Sprintf("{apiCall: {url: %s/good, refreshIntervalSeconds: 1, caBundle: rubbish}}", address), "Invalid", "caBundle"},
		"blocked-address": {"{apiCall: {url: 'http://169.254.169.254/latest', refreshIntervalSeconds: 1}}", "Failing", "169.254.169.254"},
	}
}

func badResources() map[string]badEntry {
	return map[string]badEntry{
		"unknown-kind":   {"{resource: {kind: Nonesuch}}", "Invalid", "Nonesuch"},
		"unknown-group":  {"{resource: {group: none.example.com, kind: Pod}}", "Invalid", "none.example.com"},
		"failing-filter": {`{resource: {kind: ConfigMap, namespace: maps, filter: "starts_with(data.none, 'x')"}}`, "Failing", "can't tell whether to keep maps/one"},
		"forbidden-kind": {"{resource: {kind: secrets}}", "Forbidden", "secrets"},
		"larger-than-it": {"{resource: {kind: ConfigMap, namespace: large}}", "TooLarge", "--context-cache-memory"},
		"later-kind":     {"{resource: {kind: Later}}", "Invalid", "Later"},
	}
}

// badServer shows one kind of trouble at each path.
func badServer(t *testing.T) *httptest.Server {
	ended := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/hang":
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		case "/500":
			http.Error(w, "{}", http.StatusInternalServerError)
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html>")
		case "/huge":
			// 1 GB, of which nobody should read much.
			_, _ = io.Copy(w, io.LimitReader(endless{}, 1<<30))
		case "/metadata":
			http.Redirect(w, r, "https://169.254.169.254/latest/meta-data", http.StatusFound)
		default:
			fmt.Fprint(w, "{}")
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // Clients that don't trust it are the point.
	server.StartTLS()
	t.Cleanup(func() {
		close(ended)
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

// endless is a JSON string that does not end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '"'
	}
	return len(p), nil
}

// TestContextCacheTrouble reads for each kind of trouble what a policy says, what the object
// says, and what the metrics say.
func TestContextCacheTrouble(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := startControlledEverywhere(t)
	c.cluster.EnsureNamespace(t, "maps")
	c.cluster.EnsureNamespace(t, "large")
	c.kubectl.RunInput(t, hostMap("one", "a.example.com"), "apply", "-f", "-")
	for i := range 3 {
		c.kubectl.RunInput(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large-%d","namespace":"large"},"data":{"x":%q}}`, i, strings.Repeat("0123456789", 50_000)), "create", "-f", "-")
	}
	server := badServer(t)
	entries := badResources()
	for name, entry := range badServices(server.URL, authorityOf(server), string(c.cluster.DocketAuthority())) {
		entries[name] = entry
	}
	c.controller = startLimited(t, c, loopbackCalls, "--context-cache-memory=1Mi", "--context-cache-call-timeout=2s")
	for name, entry := range entries {
		c.kubectl.RunInput(t, fmt.Sprintf("{apiVersion: kyverno.io/v2alpha1, kind: CachedContextEntry, metadata: {name: %s}, spec: %s}", name, entry.spec), "apply", "-f", "-")
		reference := fmt.Sprintf("context:\n  - name: data\n    cachedContextEntry: {name: %s}", name)
		c.kubectl.RunInput(t, hostPolicy(name, reference, "data"), "apply", "-f", "-")
	}
	c.kubectl.RunInput(t, hostPolicy("missing", "context:\n  - name: data\n    cachedContextEntry: {name: nobody-made-it}", "data"), "apply", "-f", "-")
	c.kubectl.RunInput(t, hostPolicy("expression", "context:\n  - name: data\n    resourceCache: {kind: Namespace, jmesPath: 'items[?'}", "data"), "apply", "-f", "-")
	waitUntil(t, "all policies have results", func() bool { return len(c.results(t, "maps")) == len(entries)+2 })
	waitUntil(t, "all objects have a status", func() bool {
		return strings.Count(c.kubectl.Run(t, "get", "cce", "--no-headers"), "False") == len(entries)
	})
	for name, entry := range entries {
		t.Run(name, func(t *testing.T) { c.wantBad(t, name, entry) })
	}
	t.Run("entry that nobody made", func(t *testing.T) { c.wantError(t, "missing", "nobody-made-it") })
	t.Run("bad expression", func(t *testing.T) { c.wantError(t, "expression", "items[?") })
	t.Run("interval of 0", func(t *testing.T) {
		c.kubectl.Refused(t, "{apiVersion: kyverno.io/v2alpha1, kind: CachedContextEntry, metadata: {name: zero}, spec: {apiCall: {url: 'https://x', refreshIntervalSeconds: 0}}}",
			[]string{"refreshIntervalSeconds"}, "apply", "-f", "-")
	})
	for _, state := range []string{"invalid", "forbidden", "failing", "toolarge"} {
		if got := c.controller.Metric(t, "docket_controller_context_cache_entries", map[string]string{"state": state}); got == 0 {
			t.Errorf("no entry is %s", state)
		}
	}
	for _, reason := range []string{"timeout", "status", "content", "size", "blocked", "tls", "forbidden", "too_large"} {
		if got := c.controller.Metric(t, "docket_controller_context_cache_failures_total", map[string]string{"reason": reason}); got == 0 {
			t.Errorf("no failure with the reason %s is counted", reason)
		}
	}
	t.Run("kind that appears", func(t *testing.T) {
		c.kubectl.RunInput(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: laters-for-the-controller
  labels: {rbac.docket.dev/aggregate-to-controller: "true"}
rules: [{apiGroups: [c.example.com], resources: [laters], verbs: [get, list, watch]}]
`, "apply", "-f", "-")
		c.kubectl.RunInput(t, definition("Later", "c.example.com"), "apply", "-f", "-")
		waitUntil(t, "the entry is ready", func() bool { return c.readiness(t, "later-kind") == "True Loaded" })
		waitUntil(t, "the policy is evaluated", func() bool { return c.results(t, "maps")["later-kind known ConfigMap/one"] != "error" })
	})
}

// startLimited starts a controller that has the rights of deploy/controller only.
func startLimited(t *testing.T, c *controlled, arguments ...string) *harness.Controller {
	t.Helper()
	c.cluster.EnsureNamespace(t, deployNamespace)
	kubectl := c.cluster.Kubectl(t, deployNamespace)
	kubectl.Run(t, "apply", "-k", filepath.Dir(harness.PolicyCRDs(t)))
	token := strings.TrimSpace(kubectl.Run(t, "create", "token", "docket-controller"))
	return harness.RunController(t, c.cluster.KubeconfigOf(t, "docket-controller", token), append([]string{"--leader-elect-namespace", deployNamespace}, arguments...)...)
}

func definition(kind, group string) string {
	plural := strings.ToLower(kind) + "s"
	return fmt.Sprintf(`---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %s.%s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {plural: %[1]s, kind: %[3]s}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, plural, group, kind)
}

// entry reads the conditions of an entry: the status and reason of Ready, and its message.
func (c *controlled) entry(t *testing.T, name string) (ready, message string) {
	t.Helper()
	kind := schema.GroupVersionResource{Group: "kyverno.io", Version: "v2alpha1", Resource: "cachedcontextentries"}
	object := testkit.Must(c.client.Resource(kind).Get(t.Context(), name, metav1.GetOptions{}))(t)
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if condition["type"] == "Ready" {
			return fmt.Sprintf("%v %v", condition["status"], condition["reason"]), fmt.Sprint(condition["message"])
		}
	}
	return "", ""
}

func (c *controlled) readiness(t *testing.T, name string) string {
	t.Helper()
	ready, _ := c.entry(t, name)
	return ready
}

// wantBad wants an object and a result to say what is wrong with an entry.
func (c *controlled) wantBad(t *testing.T, name string, entry badEntry) {
	t.Helper()
	var ready, message string
	want := "False " + entry.reason
	defer func() {
		if t.Failed() {
			t.Logf("condition %q, %s; want %q, %q", ready, message, want, entry.text)
		}
	}()
	waitUntil(t, "the condition is as wanted", func() bool {
		ready, message = c.entry(t, name)
		return ready == want && strings.Contains(message, entry.text)
	})
	c.wantError(t, name, entry.text)
}

// wantError wants a policy to give an error that contains a text.
func (c *controlled) wantError(t *testing.T, policy, text string) {
	t.Helper()
	var last string
	defer func() {
		if t.Failed() {
			t.Logf("message %q, want %q", last, text)
		}
	}()
	waitUntil(t, "the policy gives an error with the cause", func() bool {
		for _, report := range c.reports(t) {
			results, _, _ := unstructured.NestedSlice(report.Object, "results")
			for _, item := range results {
				if result, _ := item.(map[string]any); result["policy"] == policy && result["result"] == "error" {
					last = fmt.Sprint(result["message"])
					return strings.Contains(last, text)
				}
			}
		}
		return false
	})
}

// TestContextCacheRecovers: the API server restarts, and entries go on with what has changed
// meanwhile.
func TestContextCacheRecovers(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := startControlledEverywhere(t)
	for _, namespace := range []string{"apps", "maps"} {
		c.cluster.EnsureNamespace(t, namespace)
	}
	c.kubectl.RunInput(t, ingress("apps", "a", "a.example.com")+hostMap("one", "a.example.com")+hostMap("two", "b.example.com"), "apply", "-f", "-")
	c.kubectl.RunInput(t, documentEntry+hostPolicy("hosts", documentReference, "ingresses"), "apply", "-f", "-")
	c.controller.Start(t)
	c.wantHosts(t, "hosts", map[string]string{"one": "pass", "two": "fail"})
	for range 2 {
		c.cluster.RestartAPIServer(t)
	}
	c.kubectl.RunInput(t, ingress("apps", "b", "b.example.com"), "apply", "-f", "-")
	c.wantHosts(t, "hosts", map[string]string{"one": "pass", "two": "pass"})
}
