// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

const widgetDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        description: Widget is a kind for tests.
        type: object
        properties:
          spec:
            description: What the widget is to be.
            type: object
            properties:
              size: {type: integer, minimum: 1, default: 3}
              ports:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items: {type: object, required: [name], properties: {name: {type: string}, port: {type: integer}}}
          status: {description: What the widget is., type: object, properties: {ready: {type: boolean}}}
`

const widget = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: first}
spec: {ports: [{name: http, port: 80}]}
`

const smallReport = `
apiVersion: wgpolicyk8s.io/v1alpha2
kind: PolicyReport
metadata: {name: first}
results: [{policy: p, rule: r, result: pass}]
summary: {pass: 1}
`

// TestUpIsAControlPlane goes the way of somebody without a cluster: a namespace, a
// custom resource, reports, an extension server that was written without Docket, and the
// end of the namespace, which empties all of them.
func TestUpIsAControlPlane(t *testing.T) {
	t.Parallel()
	server := harness.Up(t)
	kubectl := server.Kubectl(t, "demo")
	kubectl.Run(t, "create", "namespace", "demo")

	kubectl.RunInput(t, widgetDefinition, "apply", "-f", "-")
	kubectl.Run(t, "wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=60s")
	kubectl.RunInput(t, widget, "apply", "-f", "-")
	kubectl.RunInput(t, widget, "apply", "--server-side", "--field-manager=other", "-f", "-")
	wantOutput(t, kubectl.Run(t, "get", "wd"), "SIZE", "first", "3")
	wantOutput(t, kubectl.Run(t, "explain", "widgets.spec"), "What the widget is to be")
	kubectl.Refused(t, strings.Replace(widget, "spec: {", "spec: {size: 0, ", 1), []string{"spec.size"}, "apply", "-f", "-")

	kubectl.RunInput(t, smallReport, "apply", "-f", "-")
	wantOutput(t, kubectl.Run(t, "get", "polr"), "first")
	wantOutput(t, kubectl.Run(t, "get", "pres"), "RESULT", "pass")
	wantOutput(t, kubectl.Run(t, "get", "apiservices", "v1alpha1.results.docket.dev"), "Local", "True")
	wantOutput(t, kubectl.RunInput(t, query("ResultQuery"), "create", "-o", "yaml", "-f", "-"), "policy: p", "results: 1")

	sample := harness.RunExtension(t, server.Kubeconfig(), server.Dir, harness.SampleAPIServer(t), "--etcd-servers="+harness.StartEtcd(t).URL())
	kubectl.RunInput(t, "apiVersion: wardle.example.com/v1alpha1\nkind: Flunder\nmetadata: {name: first}\n", "apply", "-f", "-")
	wantOutput(t, kubectl.Run(t, "get", "flunders"), "first")
	wantOutput(t, kubectl.Run(t, "api-resources", "-o", "name"),
		"namespaces", "configmaps", "widgets.example.com", "policyreports.wgpolicyk8s.io", "flunders.wardle.example.com", "fischers.wardle.example.com")
	wantOutput(t, kubectl.Run(t, "get", "apiservices", "v1alpha1.wardle.example.com"), "True")
	wantOutput(t, kubectl.Run(t, "get", "--raw", "/apiservers/healthz/v1alpha1.wardle.example.com"), `"available":true`)

	wantOutput(t, kubectl.Run(t, "get", "--raw", "/bootstrap/wgpolicyk8s.io"), "APIService", "ClusterRole")
	clash := strings.NewReplacer("example.com", "wardle.example.com", "name: v1\n", "name: v1alpha1\n").Replace(widgetDefinition)
	kubectl.Refused(t, clash, []string{"v1alpha1.wardle.example.com"}, "create", "-f", "-")

	kubectl.Run(t, "delete", "namespace", "demo", "--timeout=50s")
	kubectl.Run(t, "create", "namespace", "demo")
	for _, resource := range []string{"widgets", "policyreports", "policyresults", "flunders"} {
		if left := kubectl.Run(t, "get", resource, "-o", "name"); left != "" {
			t.Errorf("the end of the namespace left %s", left)
		}
	}

	sample.Stop(t)
	if left := kubectl.Run(t, "get", "apiservices", "-o", "name"); strings.Contains(left, "wardle") {
		t.Errorf("docket run left its registration: %s", left)
	}
	deleteWidgets(t, kubectl)
	waitUntil(t, "the custom resource leaves discovery", func() bool {
		return !strings.Contains(kubectl.Run(t, "api-resources", "-o", "name", "--cached=false"), "widgets")
	})
}

// TestUpKeepsObjects: a crash loses nothing of what is no report either.
func TestUpKeepsObjects(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	server := harness.Up(t)
	kubectl := server.Kubectl(t, "kept")
	kubectl.Run(t, "create", "namespace", "kept")
	kubectl.RunInput(t, widgetDefinition, "apply", "-f", "-")
	kubectl.Run(t, "wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=60s")
	kubectl.RunInput(t, widget, "apply", "-f", "-")
	kubectl.Run(t, "create", "configmap", "first", "--from-literal=a=b")
	before := kubectl.Run(t, "get", "ns/kept", "wd/first", "cm/first", "-o", "yaml")
	server.Kill(t)
	server.Start(t)
	if after := server.Kubectl(t, "kept").Run(t, "get", "ns/kept", "wd/first", "cm/first", "-o", "yaml"); after != before {
		t.Errorf("before the crash:\n%s\nafter it:\n%s", before, after)
	}
}

// TestUpNamespaceRules: reports obey namespaces as everything else does.
func TestUpNamespaceRules(t *testing.T) {
	t.Parallel()
	server := harness.Up(t)
	kubectl := server.Kubectl(t, "nowhere")
	kubectl.Refused(t, smallReport, []string{`namespaces "nowhere" not found`}, "create", "-f", "-")
	names := strings.Fields(kubectl.Run(t, "get", "namespaces", "-o", "name"))
	for _, want := range []string{"namespace/default", "namespace/kube-system"} {
		if !slices.Contains(names, want) {
			t.Errorf("there is no %s in %v", want, names)
		}
	}
	kubectl.Refused(t, "", []string{"forbidden"}, "delete", "namespace", "kube-system")
}

// deleteWidgets deletes the definition of widgets, and leaves it to the caller to wait for its end: kube-apiserver
// may need several attempts to remove the objects, each of which takes up to a minute, as long as a call of kubectl
// may here.
func deleteWidgets(t *testing.T, kubectl *harness.Kubectl) {
	t.Helper()
	kubectl.Run(t, "delete", "crd", "widgets.example.com", "--wait=false")
}
