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

	"github.com/docket-project/docket/controller/internal/policy/call"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
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
	return enginetest.ClusterPolicy(enginetest.PodRule(`
context: [{name: c, ` + entry + `}]
validate:
  message: denied
  deny: {conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: "{{ c.data.deny }}"}]}}
`))
}

// TestMissingContext promises an error for each context whose source is missing, whatever the rule makes
// of a failure; for API calls where nothing changes, as in a scan of files.
func TestMissingContext(t *testing.T) {
	t.Parallel()
	c := testkit.Must(NewCompiler(base.Config{Frozen: true}))(t)
	for _, kind := range []string{"apiCall", "globalReference", "imageRegistry"} {
		entry := contexts[kind]
		for name, text := range map[string]string{
			"deny":    withContext(entry),
			"default": strings.Replace(withContext(entry), "{{ c.data.deny }}", "{{ c.data.deny || 'none' }}", 1),
			"variable with a default": enginetest.ClusterPolicy(enginetest.PodRule(`
context: [{name: c, ` + entry + `}, {name: d, variable: {jmesPath: c.data.deny, default: none}}]
validate:
  deny: {conditions: {any: [{key: "{{ request.object.metadata.name }}", operator: Equals, value: "{{ d }}"}]}}
`)),
			"foreach": enginetest.ClusterPolicy(enginetest.PodRule(`
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
				enginetest.WantError(t, enginetest.Compile(t, c, text), enginetest.Subject(t, enginetest.BadPod), "r", kind)
			})
		}
	}
}

// TestUnusedContext promises that a missing context does no harm to a rule that does not read it.
func TestUnusedContext(t *testing.T) {
	t.Parallel()
	p := compile(t, enginetest.ClusterPolicy(enginetest.PodRule("context: [{name: c, "+contexts["apiCall"]+"}]\n"+enginetest.Unprivileged)))
	enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:fail")
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
	return compilerWith(t, &rest.Config{Host: address, QPS: -1}, base.Config{Calls: calls})
}

// compilerWith returns one whose policies ask a cluster that has pods.
func compilerWith(t *testing.T, cluster *rest.Config, config base.Config) *Compiler {
	t.Helper()
	config.Client = testkit.Must(dynamic.NewForConfig(cluster))(t)
	config.Kubernetes = testkit.Must(kubernetes.NewForConfig(cluster))(t)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, meta.RESTScopeNamespace)
	config.Mapper = mapper
	return testkit.Must(NewCompiler(config))(t)
}

func TestContextFromCluster(t *testing.T) {
	t.Parallel()
	c := cluster(t)
	elsewhere := strings.Replace(enginetest.BadPod, "namespace: team", "namespace: other", 1)
	for _, kind := range []string{"configMap", "apiCall"} {
		p := enginetest.Compile(t, c, withContext(contexts[kind]))
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod), "r:pass")
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), "r:fail")
		enginetest.WantError(t, p, enginetest.Subject(t, elsewhere), "r", "settings")
	}
	for _, expression := range []string{
		"resource.Get('v1', 'configmaps', 'team', 'settings').data.deny != object.metadata.name",
		"dyn(resource.List('v1', 'configmaps', 'team').items).all(i, i.data.deny != object.metadata.name)",
	} {
		text := strings.Replace(enginetest.ValidatingPolicy, "variables.tagged, m", `"`+expression+`", m`, 1)
		p := enginetest.Compile(t, c, text)
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.GoodPod), ":pass")
		enginetest.Want(t, p, enginetest.Subject(t, enginetest.BadPod), ":fail")
		// Another compiler of the same process still has no cluster.
		enginetest.WantError(t, compile(t, text), enginetest.Subject(t, enginetest.BadPod), "", "no cluster")
	}
	enginetest.WantError(t, compile(t, withContext(contexts["configMap"])), enginetest.Subject(t, enginetest.BadPod), "r", "no cluster")
}

func TestConfigIsComplete(t *testing.T) {
	t.Parallel()
	client := testkit.Must(dynamic.NewForConfig(&rest.Config{Host: "http://127.0.0.1:1"}))(t)
	if _, err := NewCompiler(base.Config{Client: client}); err == nil || !strings.Contains(err.Error(), "Kubernetes") {
		t.Errorf("a client alone is accepted: %v", err)
	}
	if _, err := NewCompiler(base.Config{Timeout: -1}); err == nil {
		t.Error("a negative timeout is accepted")
	}
}
