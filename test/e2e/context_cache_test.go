// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// loopbackCalls lets entries call this machine, which they must not without being told.
const loopbackCalls = "--context-cache-allow-ranges=127.0.0.0/8"

// ingress has one host.
func ingress(namespace, name, host string) string {
	return fmt.Sprintf(`---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: %s, namespace: %s}
spec: {rules: [{host: %s, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
`, name, namespace, host)
}

// hostMap is a ConfigMap that names a host.
func hostMap(name, host string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: maps}\ndata: {host: %s}\n", name, host)
}

// hostPolicy wants hosts of ConfigMaps to be in a variable, which the context declares.
func hostPolicy(name, context, variable string) string {
	return fmt.Sprintf(`---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: %s}
spec:
  rules:
  - name: known
    match: {any: [{resources: {kinds: [ConfigMap], namespaces: [maps]}}]}
%s
    validate:
      message: the host is not known
      deny: {conditions: {any: [{key: "{{ request.object.data.host }}", operator: AnyNotIn, value: "{{ %s }}"}]}}
`, name, indent(context), variable)
}

// indent moves YAML that is written as in the document to where a rule has it.
func indent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i := range lines {
		lines[i] = "    " + lines[i]
	}
	return strings.Join(lines, "\n")
}

// The manifests of the design document of the resource cache, as they are written there.
const (
	documentEntry = `
apiVersion: kyverno.io/v2alpha1
kind: CachedContextEntry
metadata:
  name: ingress
spec:
  resource:
    group: "apis/networking.k8s.io"
    version: "v1"
    kind: "ingresses"
    namespace: apps
`
	documentCall = `
apiVersion: kyverno.io/v2alpha1
kind: CachedContextEntry
metadata:
  name: ingress
spec:
  apiCall:
    url: https://svc.kyverno/example
    caBundle: |-
      -----BEGIN CERTIFICATE-----
      -----REDACTED-----
      -----END CERTIFICATE-----
    refreshIntervalSeconds: 10
`
	documentReference = `
context:
  - name: ingresses
    cachedContextEntry:
      name: ingress
      jmespath: "ingresses | items[].spec.rules[].host"
`
	documentAPICall = `
context:
- name: deployment_count
  apiCall:
    urlPath: "/apis/apps/v1/namespaces/staging/deployments"
    jmesPath: "items[?metadata.name=='{{ request.object.metadata.name }}'] || ` + "`[]`" + ` | length(@)"
`
	documentResourceCache = `
context:
- name: deployment_count
  resourceCache:
    group: "apps"
    version: "v1"
    kind: "deployments"
    namespace: "staging"
    jmesPath: "items[?metadata.name=='{{ request.object.metadata.name }}'] || ` + "`[]`" + ` | length(@)"
`
	documentInline = `
context:
  - name: ingresses
    resourceCache:
      group: "apis/networking.k8s.io"
      version: "v1"
      kind: "ingresses"
      namespace: apps
      jmesPath: "ingresses | items[].spec.rules[].host"
`
	documentCached = `
context:
  - name: hosts
    apiCall:
      urlPath: "/apis/networking.k8s.io/v1/ingresses"
      jmesPath: "items[].spec.rules[].host"
      cache: true
`
)

// TestContextCacheDocument applies every manifest of the design document.
func TestContextCacheDocument(t *testing.T) {
	t.Parallel()
	c := startControlledEverywhere(t)
	for _, namespace := range []string{"apps", "others", "maps", "staging", "production"} {
		c.cluster.EnsureNamespace(t, namespace)
	}
	c.kubectl.RunInput(t, ingress("apps", "a", "a.example.com")+ingress("others", "c", "c.example.com"), "apply", "-f", "-")
	c.kubectl.RunInput(t, hostMap("one", "a.example.com")+hostMap("two", "b.example.com")+hostMap("three", "c.example.com"), "apply", "-f", "-")
	c.controller.Start(t, loopbackCalls)

	t.Run("resource", func(t *testing.T) { documentResource(t, c) })
	t.Run("apiCall", func(t *testing.T) { documentService(t, c) })
	t.Run("migration", func(t *testing.T) { documentMigration(t, c) })
	t.Run("resourceCache in a policy", func(t *testing.T) {
		c.hosts(t, hostPolicy("inline", documentInline, "ingresses"), "inline", map[string]string{"one": "pass", "two": "fail", "three": "fail"})
	})
	t.Run("apiCall with a cache", func(t *testing.T) {
		c.hosts(t, hostPolicy("cached", documentCached, "hosts"), "cached", map[string]string{"one": "pass", "two": "fail", "three": "pass"})
	})
	t.Run("in a namespaced policy", func(t *testing.T) { documentNamespaced(t, c) })
	t.Run("GlobalContextEntry", func(t *testing.T) { documentGlobal(t, c) })
}

// hosts applies a policy, waits for its results on ConfigMaps, and deletes it.
func (c *controlled) hosts(t *testing.T, policy, name string, want map[string]string) {
	t.Helper()
	c.kubectl.RunInput(t, policy, "apply", "-f", "-")
	c.wantHosts(t, name, want)
	c.kubectl.RunInput(t, policy, "delete", "-f", "-")
	c.wantResults(t, "maps", map[string]string{})
}

func (c *controlled) wantHosts(t *testing.T, policy string, want map[string]string) {
	t.Helper()
	results := map[string]string{}
	for name, outcome := range want {
		results[policy+" known ConfigMap/"+name] = outcome
	}
	c.wantResults(t, "maps", results)
}

// documentResource: an entry of resources, its reference, and changes, which evaluate just the
// policies that use the entry.
func documentResource(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, documentEntry, "apply", "-f", "-")
	c.kubectl.RunInput(t, hostPolicy("hosts", documentReference, "ingresses"), "apply", "-f", "-")
	c.kubectl.RunInput(t, labelPolicy("", "labels", rule{"a", "Namespace", "a"}), "apply", "-f", "-")
	c.wantHosts(t, "hosts", map[string]string{"one": "pass", "two": "fail", "three": "fail"})
	waitUntil(t, "the entry says that it is ready", func() bool {
		line := c.kubectl.Run(t, "get", "cce", "ingress", "--no-headers")
		return strings.Contains(line, "True") && strings.Contains(line, "ingresses")
	})
	before := c.evaluations(t)
	c.kubectl.RunInput(t, ingress("apps", "b", "b.example.com"), "apply", "-f", "-")
	c.wantHosts(t, "hosts", map[string]string{"one": "pass", "two": "pass", "three": "fail"})
	// Three ConfigMaps, and some for what the control plane does meanwhile by itself.
	if got := c.evaluations(t) - before; got < 3 || got > 6 {
		t.Errorf("%v evaluations for three subjects of one policy", got)
	}
	c.kubectl.Run(t, "delete", "ingress", "-n", "apps", "a", "b")
	c.wantHosts(t, "hosts", map[string]string{"one": "fail", "two": "fail", "three": "fail"})
	c.kubectl.RunInput(t, ingress("apps", "a", "a.example.com"), "apply", "-f", "-")
	c.wantHosts(t, "hosts", map[string]string{"one": "pass", "two": "fail", "three": "fail"})
	// Without the entry, the policy can't be evaluated.
	c.kubectl.Run(t, "delete", "cce", "ingress")
	c.wantHosts(t, "hosts", map[string]string{"one": "error", "two": "error", "three": "error"})
	wantOutput(t, textOf(t, c.reports(t)), "CachedContextEntry")
	c.kubectl.Run(t, "delete", "clusterpolicy", "hosts", "labels")
	c.wantResults(t, "maps", map[string]string{})
}

// documentService: an entry of a service's answers. The document's address and certificate are
// not real, so that they are replaced.
func documentService(t *testing.T, c *controlled) {
	var answer atomic.Value
	var calls atomic.Int64
	answer.Store(`{"hosts": ["a.example.com"]}`)
	service := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer.Load())
	}))
	defer service.Close()
	authority := authorityOf(service)
	entry := strings.NewReplacer("https://svc.kyverno", service.URL, "name: ingress", "name: service", `-----BEGIN CERTIFICATE-----
      -----REDACTED-----
      -----END CERTIFICATE-----`, strings.ReplaceAll(strings.TrimSpace(authority), "\n", "\n      ")).Replace(documentCall)
	c.kubectl.RunInput(t, entry, "apply", "-f", "-")
	reference := "context:\n  - name: answer\n    cachedContextEntry: {name: service, jmesPath: hosts}"
	c.kubectl.RunInput(t, hostPolicy("service", reference, "answer"), "apply", "-f", "-")
	c.wantHosts(t, "service", map[string]string{"one": "pass", "two": "fail", "three": "fail"})
	answer.Store(`{"hosts": ["b.example.com"]}`)
	c.wantHosts(t, "service", map[string]string{"one": "fail", "two": "pass", "three": "fail"})
	c.kubectl.Run(t, "delete", "clusterpolicy/service", "cce/service")
	c.wantResults(t, "maps", map[string]string{})
	declared := testkit.Must(json.Marshal([]any{map[string]any{"name": "answer", "apiCall": map[string]any{
		"service": map[string]any{"url": service.URL, "caBundle": authority}, "cache": true, "jmesPath": "hosts",
	}}}))(t)
	before := calls.Load()
	c.hosts(t, hostPolicy("declared", "context: "+string(declared), "answer"), "declared", map[string]string{"one": "fail", "two": "pass", "three": "fail"})
	if made := calls.Load() - before; made != 1 {
		t.Errorf("%d calls of a service for three resources, whose answer is kept", made)
	}
}

// documentMigration: an API call and what it becomes give the same.
func documentMigration(t *testing.T, c *controlled) {
	c.kubectl.Run(t, "create", "deployment", "both", "-n", "staging", "--image=registry.k8s.io/pause:3.10")
	c.kubectl.Run(t, "create", "deployment", "both", "-n", "production", "--image=registry.k8s.io/pause:3.10")
	c.kubectl.Run(t, "create", "deployment", "alone", "-n", "production", "--image=registry.k8s.io/pause:3.10")
	const policy = `---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: %s}
spec:
  rules:
  - name: staged
    match: {any: [{resources: {kinds: [Deployment], namespaces: [production]}}]}
%s
    validate:
      message: nothing of this name in staging
      deny: {conditions: {any: [{key: "{{ deployment_count }}", operator: Equals, value: 0}]}}
`
	c.kubectl.RunInput(t, fmt.Sprintf(policy, "before", indent(documentAPICall))+fmt.Sprintf(policy, "after", indent(documentResourceCache)), "apply", "-f", "-")
	c.wantResults(t, "production", map[string]string{
		"before staged Deployment/both": "pass", "before staged Deployment/alone": "fail",
		"after staged Deployment/both": "pass", "after staged Deployment/alone": "fail",
	})
	// The cached one knows of a change by itself; the other one waits for the periodic scan.
	c.kubectl.Run(t, "create", "deployment", "alone", "-n", "staging", "--image=registry.k8s.io/pause:3.10")
	waitUntil(t, "the change is seen", func() bool { return c.results(t, "production")["after staged Deployment/alone"] == "pass" })
	c.kubectl.Run(t, "delete", "clusterpolicy", "before", "after")
	c.wantResults(t, "production", map[string]string{})
}

// documentNamespaced: the same in a Policy, where Kyverno knows no global entries, if the entry is open
// to it.
func documentNamespaced(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, documentEntry, "apply", "-f", "-")
	namespaced := func(text string) string {
		return strings.NewReplacer("kind: ClusterPolicy", "kind: Policy", "metadata: {name: own}", "metadata: {name: own, namespace: maps}", ", namespaces: [maps]", "").Replace(text)
	}
	policy := namespaced(hostPolicy("own", documentReference, "ingresses"))
	c.kubectl.RunInput(t, policy, "apply", "-f", "-")
	c.wantHosts(t, "maps/own", map[string]string{"one": "error", "two": "error", "three": "error"})
	wantOutput(t, textOf(t, c.reports(t)), "allowNamespacedPolicies")
	c.kubectl.RunInput(t, strings.Replace(documentEntry, "spec:\n", "spec:\n  allowNamespacedPolicies: true\n", 1), "apply", "-f", "-")
	c.wantHosts(t, "maps/own", map[string]string{"one": "pass", "two": "fail", "three": "fail"})
	c.kubectl.RunInput(t, policy, "delete", "-f", "-")
	c.wantResults(t, "maps", map[string]string{})
	// What it declares itself is of its own namespace only.
	policy = namespaced(hostPolicy("own", documentInline, "ingresses"))
	c.kubectl.RunInput(t, policy, "apply", "-f", "-")
	c.wantHosts(t, "maps/own", map[string]string{"one": "error", "two": "error", "three": "error"})
	wantOutput(t, textOf(t, c.reports(t)), "namespace")
	c.kubectl.RunInput(t, policy+"---\n"+documentEntry, "delete", "-f", "-")
	c.wantResults(t, "maps", map[string]string{})
}

// documentGlobal: entries of Kyverno's kind, with a projection, in a rule and in CEL.
func documentGlobal(t *testing.T, c *controlled) {
	const entry = `---
apiVersion: kyverno.io/v2
kind: GlobalContextEntry
metadata: {name: global}
spec:
  kubernetesResource: {group: networking.k8s.io, version: v1, resource: ingresses}
  projections: [{name: hosts, jmesPath: "[].spec.rules[].host"}]
`
	c.kubectl.RunInput(t, entry, "apply", "-f", "-")
	for name, reference := range map[string]string{
		"expression": "{name: global, jmesPath: '[].spec.rules[].host'}", "projection": "{name: global.hosts}",
	} {
		policy := hostPolicy(name, "context:\n  - name: hosts\n    globalReference: "+reference, "hosts")
		c.hosts(t, policy, name, map[string]string{"one": "pass", "two": "fail", "three": "pass"})
	}
	const cel = `---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: cel}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: maps}}}
  matchConditions: [{name: host, expression: "has(object.data) && 'host' in object.data"}]
  validations: [{expression: "globalContext.Get('global', 'hosts').exists(h, h == object.data.host)", message: unknown}]
`
	c.kubectl.RunInput(t, cel, "apply", "-f", "-")
	c.wantResults(t, "maps", map[string]string{"cel  ConfigMap/one": "pass", "cel  ConfigMap/two": "fail", "cel  ConfigMap/three": "pass"})
	c.kubectl.RunInput(t, ingress("apps", "b", "b.example.com"), "apply", "-f", "-")
	c.wantResults(t, "maps", map[string]string{"cel  ConfigMap/one": "pass", "cel  ConfigMap/two": "pass", "cel  ConfigMap/three": "pass"})
	c.kubectl.RunInput(t, cel+entry, "delete", "-f", "-")
	c.wantResults(t, "maps", map[string]string{})
}

// authorityOf returns the certificate that a test's server is trusted by.
func authorityOf(server *httptest.Server) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
}
