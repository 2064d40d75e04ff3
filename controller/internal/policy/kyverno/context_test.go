// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kyverno

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/contextcache/call"
)

// contexts are context entries named c, by kind.
var contexts = map[string]string{
	"configMap":       `configMap: {name: settings, namespace: "{{ request.namespace }}"}`,
	"apiCall":         `apiCall: {urlPath: "/api/v1/namespaces/{{ request.namespace }}/configmaps/settings"}`,
	"globalReference": `globalReference: {name: entry}`,
	"imageRegistry":   `imageRegistry: {reference: "registry.test/web:1"}`,
}

// withContext denies what the settings say.
func withContext(entry string) string {
	return clusterPolicy(podRule(`
context: [{name: c, ` + entry + `}]
validate:
  message: denied
  deny: {conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: "{{ c.data.deny }}"}]}}
`))
}

// TestMissingContext promises an error for each context that is not there, whatever the rule makes
// of a failure.
func TestMissingContext(t *testing.T) {
	t.Parallel()
	for kind, entry := range contexts {
		for name, text := range map[string]string{
			"deny":    withContext(entry),
			"default": strings.Replace(withContext(entry), "{{ c.data.deny }}", "{{ c.data.deny || 'none' }}", 1),
			"variable with a default": clusterPolicy(podRule(`
context: [{name: c, ` + entry + `}, {name: d, variable: {jmesPath: c.data.deny, default: none}}]
validate:
  deny: {conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: "{{ d }}"}]}}
`)),
			"foreach": clusterPolicy(podRule(`
validate:
  foreach:
  - list: request.object.spec.containers
    context: [{name: c, ` + entry + `}]
    preconditions: {all: [{key: "{{ c.data.deny }}", operator: Equals, value: x}]}
    deny: {conditions: {any: [{key: a, operator: Equals, value: a}]}}
`)),
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				wantError(t, compile(t, text), subject(t, badPod), "r", kind)
			})
		}
	}
}

// TestUnusedContext promises that a missing context does no harm to a rule that does not read it.
func TestUnusedContext(t *testing.T) {
	t.Parallel()
	p := compile(t, clusterPolicy(podRule("context: [{name: c, "+contexts["apiCall"]+"}]\n"+unprivileged)))
	want(t, p, subject(t, badPod), "r:fail")
}

// cluster is an API server that has one ConfigMap in the namespace team.
func cluster(t *testing.T) *Compiler {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		const content = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"team"},"data":{"deny":"bad"}}`
		switch r.URL.Path {
		case "/api/v1/namespaces/team/configmaps/settings":
			fmt.Fprint(w, content)
		case "/api/v1/namespaces/team/configmaps":
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"ConfigMapList","metadata":{},"items":[`+content+`]}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"NotFound","code":404,"message":"not found"}`)
		}
	}))
	t.Cleanup(server.Close)
	return compilerOf(t, server.URL, call.Config{})
}

// compilerOf returns a compiler for an API server that knows pods.
func compilerOf(t *testing.T, address string, calls call.Config) *Compiler {
	t.Helper()
	config := &rest.Config{Host: address, QPS: -1}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, meta.RESTScopeNamespace)
	out, err := NewCompiler(Config{Client: client, Kubernetes: typed, Mapper: mapper, Calls: calls})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestContextFromCluster(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	elsewhere := strings.Replace(badPod, "namespace: team", "namespace: other", 1)
	for _, kind := range []string{"configMap", "apiCall"} {
		p := compileIn(t, c, withContext(contexts[kind]))
		want(t, p, subject(t, goodPod), "r:pass")
		want(t, p, subject(t, badPod), "r:fail")
		wantError(t, p, subject(t, elsewhere), "r", "settings")
	}
	for _, expression := range []string{
		"resource.Get('v1', 'configmaps', 'team', 'settings').data.deny != object.metadata.name",
		"dyn(resource.List('v1', 'configmaps', 'team').items).all(i, i.data.deny != object.metadata.name)",
	} {
		text := strings.Replace(validatingPolicy, "variables.tagged, m", `"`+expression+`", m`, 1)
		p := compileIn(t, c, text)
		want(t, p, subject(t, goodPod), ":pass")
		want(t, p, subject(t, badPod), ":fail")
		// Another compiler of the same process still has no cluster.
		wantError(t, compile(t, text), subject(t, badPod), "", "no cluster")
	}
	wantError(t, compile(t, withContext(contexts["configMap"])), subject(t, badPod), "r", "no cluster")
}

func TestConfigIsComplete(t *testing.T) {
	t.Parallel()
	client, err := dynamic.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewCompiler(Config{Client: client}); err == nil || !strings.Contains(err.Error(), "Kubernetes") {
		t.Errorf("a client alone is accepted: %v", err)
	}
	if _, err := NewCompiler(Config{Timeout: -1}); err == nil {
		t.Error("a negative timeout is accepted")
	}
}
