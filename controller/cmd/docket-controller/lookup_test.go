// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/docket-project/docket/controller/internal/program"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// lookupPolicies read ConfigMaps in the namespace of a pod in the ways that there are.
const lookupPolicies = `
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: lookup-classic}
spec:
  rules:
  - name: list
    match: {any: [{resources: {kinds: [Pod], names: ["lookup-*"]}}]}
    context:
    - {name: all, apiCall: {urlPath: "/api/v1/namespaces/{{ request.namespace }}/configmaps", jmesPath: "items[].join('', [metadata.name, data.x])"}}
    - {name: one, configMap: {name: one, namespace: "{{ request.namespace }}"}}
    validate: {message: "{{ one.data.x }} {{ all | join(' ', @) }}", deny: {conditions: {all: [{key: "{{ one.data.x }}", operator: NotEquals, value: a}]}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: lookup-cel}
spec:
  validationActions: [Audit]
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  matchConditions: [{name: ours, expression: object.metadata.name.startsWith('lookup-')}]
  variables: [{name: all, expression: "dyn(resource.List('v1', 'configmaps', object.metadata.namespace).items)"}]
  validations: [{expression: "variables.all.map(c, c.metadata.name + c.data.x) == ['onea', 'twoa']", message: others}]
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: lookup-namespace}
spec:
  validationActions: [Audit]
  matchConstraints: {namespaceSelector: {matchLabels: {env: prod}}, resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  matchConditions: [{name: ours, expression: object.metadata.name.startsWith('lookup-')}]
  validations: [{expression: "namespaceObject.metadata.annotations['owner'] == 'me'", message: not mine}]
`

const lookupNamespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: lookup, labels: {env: prod}, annotations: {owner: me}}\n"

func lookupMap(name, x string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: lookup}\ndata: {x: " + x + "}\n"
}

// TestLookupsBehindFiles: files are evaluated as if they had been applied to a cluster, or by themselves, or as if only
// the cluster had what is looked up.
func TestLookupsBehindFiles(t *testing.T) {
	t.Parallel()
	kubeconfig, client := server(t)
	configMaps := pods
	configMaps.Resource = "configmaps"
	mustCreate(t, client, namespaces, lookupNamespace)
	mustCreate(t, client, configMaps, lookupMap("one", "b"))
	mustCreate(t, client, configMaps, lookupMap("two", "a"))
	dir := writeFiles(t, map[string]string{"policy.yaml": lookupPolicies, "app.yaml": pod("lookup", "lookup-p", "") + "---\n" + lookupMap("one", "a")})
	for lookup, want := range map[string][]string{
		"both":    {"lookup-classic pass Pod lookup/lookup-p", "lookup-cel pass Pod lookup/lookup-p", "lookup-namespace pass Pod lookup/lookup-p"},
		"files":   {"lookup-classic pass Pod lookup/lookup-p", "lookup-cel fail Pod lookup/lookup-p"},
		"cluster": {"lookup-classic fail Pod lookup/lookup-p: b oneb twoa", "lookup-cel fail Pod lookup/lookup-p", "lookup-namespace pass Pod lookup/lookup-p"},
	} {
		got := command(t, "", "scan", "--output=json", "--policy="+dir+"/policy.yaml", "--resource="+dir+"/app.yaml", "--kubeconfig="+kubeconfig, "--lookup="+lookup)
		t.Run(lookup, func(t *testing.T) { wantResults(t, got, want...) })
	}
}

// TestClusterGoesAwayInAScan: what needs it is an error that names it, and all else is evaluated.
func TestClusterGoesAwayInAScan(t *testing.T) {
	t.Parallel()
	kubeconfig, _ := server(t)
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", kubeconfig))(t)
	proxy := httputil.NewSingleHostReverseProxy(testkit.Must(url.Parse(config.Host))(t))
	proxy.Transport = testkit.Must(rest.TransportFor(config))(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/configmaps") {
			panic(http.ErrAbortHandler) // The connection breaks.
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	broken := filepath.Join(t.TempDir(), "kubeconfig")
	testkit.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: front.URL}}, Contexts: map[string]*clientcmdapi.Context{"c": {Cluster: "c"}}, CurrentContext: "c",
	}, broken))
	dir := writeFiles(t, map[string]string{"policy.yaml": lookupPolicies + "---\n" + named("lookup-none"), "app.yaml": pod("lookup-away", "lookup-p", "") + "---\n" + pod("lookup-away", "lookup-q", "owner: me")})
	got := command(t, "", "scan", "--output=json", "--policy="+dir+"/policy.yaml", "--resource="+dir+"/app.yaml", "--kubeconfig="+broken)
	away := ": the cluster " + front.URL + " has gone away"
	wantResults(t, got,
		"lookup-classic error Pod lookup-away/lookup-p"+away, "lookup-classic error Pod lookup-away/lookup-q"+away,
		"lookup-cel error Pod lookup-away/lookup-p"+away, "lookup-cel error Pod lookup-away/lookup-q"+away,
		"lookup-none fail Pod lookup-away/lookup-p", "lookup-none pass Pod lookup-away/lookup-q")
	if got.code != program.ExitTrouble {
		t.Errorf("exit code %d:\n%s", got.code, got.err)
	}
}
