// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

const managedByController = "app.kubernetes.io/managed-by=docket-controller"

// controlled is a cluster with Docket and a controller, for one test.
type controlled struct {
	cluster    *harness.Cluster
	kubectl    *harness.Kubectl
	client     dynamic.Interface
	controller *harness.Controller
}

// startControlled returns a cluster whose reports are in Docket and whose controller has not
// been started.
func startControlled(t *testing.T) *controlled {
	t.Helper()
	cluster := harness.StartCluster(t)
	cluster.Register(t, cluster.Serve(t).Port)
	return startControlledOn(t, cluster)
}

// startControlledEverywhere is startControlled with a kubectl that takes namespaces from manifests.
func startControlledEverywhere(t *testing.T) *controlled {
	t.Helper()
	c := startControlled(t)
	c.kubectl = c.cluster.Kubectl(t, "")
	return c
}

// startControlledOn is startControlled for a cluster that has Docket.
func startControlledOn(t *testing.T, cluster *harness.Cluster) *controlled {
	t.Helper()
	kubectl := cluster.Kubectl(t, "default")
	kubectl.Run(t, "apply", "-k", harness.PolicyCRDs(t))
	client := testkit.Must(dynamic.NewForConfig(cluster.RESTConfig(t)))(t)
	return &controlled{cluster, kubectl, client, harness.NewController(t, cluster.Kubeconfig(), "--leader-elect=false")}
}

// rule is a rule of a policy that wants a label on resources of a kind.
type rule struct{ name, kind, label string }

// labelPolicy is a ClusterPolicy, or a Policy if it has a namespace.
func labelPolicy(namespace, name string, rules ...rule) string {
	var b strings.Builder
	kind := "ClusterPolicy"
	if namespace != "" {
		kind = "Policy"
	}
	fmt.Fprintf(&b, "---\napiVersion: kyverno.io/v1\nkind: %s\nmetadata:\n  name: %s\n", kind, name)
	if namespace != "" {
		fmt.Fprintf(&b, "  namespace: %s\n", namespace)
	}
	b.WriteString("  annotations:\n    policies.kyverno.io/category: Labels\n    policies.kyverno.io/severity: medium\n")
	b.WriteString("spec:\n  background: true\n  rules:\n")
	for _, r := range rules {
		fmt.Fprintf(&b, `  - name: %s
    match: {any: [{resources: {kinds: [%s]}}]}
    validate:
      message: label %s is required
      pattern: {metadata: {labels: {%s: "?*"}}}
`, r.name, r.kind, r.label, r.label)
	}
	return b.String()
}

// configMaps have the label a.
func configMaps(namespace string, names ...string) string {
	var b strings.Builder
	for _, name := range names {
		fmt.Fprintf(&b, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s, labels: {a: \"1\"}}\n", name, namespace)
	}
	return b.String()
}

// reportKinds are where the controller may write. Those of one group come twice, so that the old
// group is read before the new one, whichever is which: no result is missed between two lists.
func reportKinds() []schema.GroupVersionResource {
	kinds := func(group, version string, resources ...string) []schema.GroupVersionResource {
		var all []schema.GroupVersionResource
		for _, name := range resources {
			all = append(all, schema.GroupVersionResource{Group: group, Version: version, Resource: name})
		}
		return all
	}
	wgpolicy := kinds("wgpolicyk8s.io", "v1alpha2", "policyreports", "clusterpolicyreports")
	return slices.Concat(wgpolicy, kinds("openreports.io", "v1alpha1", "reports", "clusterreports"), wgpolicy)
}

// reports lists what the controller has written, by namespace/name.
func (c *controlled) reports(t *testing.T) map[string]unstructured.Unstructured {
	t.Helper()
	reports := map[string]unstructured.Unstructured{}
	for _, kind := range reportKinds() {
		list := testkit.Must(c.client.Resource(kind).List(t.Context(), metav1.ListOptions{LabelSelector: managedByController}))(t)
		for _, report := range list.Items {
			reports[report.GetNamespace()+"/"+report.GetName()] = report
		}
	}
	return reports
}

// results returns outcomes by "policy rule kind/namespace/name" of one namespace, or of
// cluster-scoped subjects if it is empty. A result that is there twice is "twice".
func (c *controlled) results(t *testing.T, namespace string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, report := range c.reports(t) {
		if report.GetNamespace() != namespace {
			continue
		}
		results, _, _ := unstructured.NestedSlice(report.Object, "results")
		for _, item := range results {
			result, _ := item.(map[string]any)
			text := func(path ...string) string { s, _, _ := unstructured.NestedString(result, path...); return s }
			resources, _, _ := unstructured.NestedSlice(result, "resources")
			if len(resources) == 0 {
				resources, _, _ = unstructured.NestedSlice(result, "subjects")
			}
			for _, item := range resources {
				subject, _ := item.(map[string]any)
				key := fmt.Sprintf("%s %s %s/%s", text("policy"), text("rule"), subject["kind"], subject["name"])
				if _, twice := found[key]; twice {
					found[key] = "twice"
				} else {
					found[key] = text("result")
				}
			}
		}
	}
	return found
}

// wantResults waits until a namespace has just these results.
func (c *controlled) wantResults(t *testing.T, namespace string, want map[string]string) {
	t.Helper()
	var got map[string]string
	defer func() {
		if t.Failed() {
			t.Logf("results in namespace %q: %v\nwant: %v", namespace, got, want)
		}
	}()
	waitUntil(t, "the results are as wanted", func() bool {
		got = c.results(t, namespace)
		return maps.Equal(got, want)
	})
}

// evaluations is how often the controller has evaluated a policy for a resource.
func (c *controlled) evaluations(t *testing.T) float64 {
	t.Helper()
	return c.controller.Metric(t, "docket_controller_evaluations_total", nil)
}

// namesOf returns the names of the reports in a namespace, sorted.
func (c *controlled) namesOf(t *testing.T, namespace string) []string {
	t.Helper()
	var names []string
	for _, report := range c.reports(t) {
		if report.GetNamespace() == namespace {
			names = append(names, report.GetName())
		}
	}
	slices.Sort(names)
	return names
}

// versions returns the versions of all reports.
func (c *controlled) versions(t *testing.T) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for name, report := range c.reports(t) {
		versions[name] = report.GetResourceVersion()
	}
	return versions
}

// changed returns what is new, gone or different, sorted. The control plane changes things in its
// own namespaces when it likes.
func changed(before, after map[string]string) []string {
	before, after = maps.Clone(before), maps.Clone(after)
	for _, versions := range []map[string]string{before, after} {
		maps.DeleteFunc(versions, func(name, _ string) bool { return strings.HasPrefix(name, "kube-") })
	}
	var names []string
	for name, version := range after {
		if before[name] != version {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, there := after[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// barrier makes a resource that no other policy of the test sees, and waits for its report: what
// happened before it has been seen and written by then, since reports are written after a
// second without a change. It returns the name of the report that it changed.
func (c *controlled) barrier(t *testing.T, n int) string {
	t.Helper()
	const namespace = "barrier"
	if n == 0 {
		c.cluster.EnsureNamespace(t, namespace)
		c.kubectl.RunInput(t, labelPolicy(namespace, "barrier", rule{"there", "Service", "a"}), "apply", "-n", namespace, "-f", "-")
	}
	name := fmt.Sprintf("barrier-%d", n)
	c.kubectl.RunInput(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":%q,"namespace":%q,"labels":{"a":"1"}},"spec":{"ports":[{"port":80}]}}`, name, namespace), "create", "-n", namespace, "-f", "-")
	waitUntil(t, "the barrier is reported", func() bool {
		return c.results(t, namespace)["barrier/barrier there Service/"+name] == "pass"
	})
	return namespace + "/" + c.namesOf(t, namespace)[0]
}

// count returns how many objects of a core kind the cluster has.
func (c *controlled) count(t *testing.T, resource string) int {
	t.Helper()
	list := testkit.Must(c.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).List(t.Context(), metav1.ListOptions{}))(t)
	return len(list.Items)
}

func textOf(t *testing.T, value any) string {
	t.Helper()
	data := testkit.Must(json.Marshal(value))(t)
	return string(data)
}
