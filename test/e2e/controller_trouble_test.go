// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// wgReports are the namespaced reports of the group that is the default.
func wgReports() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}
}

// TestControllerTrouble: what others do to the controller and its reports.
func TestControllerTrouble(t *testing.T) {
	t.Parallel()
	c := startControlled(t)
	c.cluster.EnsureNamespace(t, "shop")
	c.kubectl.RunInput(t, configMaps("shop", "one"), "apply", "-n", "shop", "-f", "-")
	c.controller.Start(t)
	c.barrier(t, 0)
	c.kubectl.RunInput(t, labelPolicy("shop", "labels", rule{"a", "ConfigMap", "a"}), "apply", "-n", "shop", "-f", "-")
	want := inShop("shop/labels", map[string]string{"a": "a"}, map[string]string{"one": "a"})
	c.wantResults(t, "shop", want)

	t.Run("conflicting writer", func(t *testing.T) { troubleConflict(t, c, want) })
	t.Run("foreign report of our name", func(t *testing.T) { troubleForeign(t, c) })
	t.Run("quota", func(t *testing.T) { troubleQuota(t, c) })
	t.Run("policy that can't be evaluated", func(t *testing.T) { troubleBadPolicy(t, c) })
	t.Run("kind that appears and vanishes", func(t *testing.T) { troubleKinds(t, c) })
	t.Run("layout switched", func(t *testing.T) { troubleSwitch(t, c, want) })
}

// troubleConflict: somebody changes a report, and deletes it. It is ours, so it is repaired.
func troubleConflict(t *testing.T, c *controlled, want map[string]string) {
	name := c.namesOf(t, "shop")[0]
	c.kubectl.Run(t, "patch", "-n", "shop", "policyreport", name, "--type=merge", "--patch", `{"results":[],"summary":{"pass":7}}`)
	c.wantResults(t, "shop", want)
	c.kubectl.Run(t, "delete", "-n", "shop", "policyreport", name)
	c.wantResults(t, "shop", want)
	// A change of the subject just after one of the report meets a version that it does not know.
	c.kubectl.Run(t, "label", "-n", "shop", "policyreport", name, "touched=yes")
	c.kubectl.RunInput(t, configMaps("shop", "two"), "apply", "-n", "shop", "-f", "-")
	more := maps.Clone(want)
	more["shop/labels a ConfigMap/two"] = "pass"
	c.wantResults(t, "shop", more)
	c.kubectl.Run(t, "delete", "-n", "shop", "configmap", "two")
	c.wantResults(t, "shop", want)
}

// troubleForeign: a report that has the name of ours and not our label belongs to somebody.
func troubleForeign(t *testing.T, c *controlled) {
	c.cluster.EnsureNamespace(t, "occupied")
	c.kubectl.RunInput(t, configMaps("occupied", "one"), "apply", "-n", "occupied", "-f", "-")
	foreign := `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"polr-ns-occupied-taken","namespace":"occupied","labels":{"of":"another"}}}`
	c.kubectl.RunInput(t, foreign, "create", "-n", "occupied", "-f", "-")
	failed := c.controller.Metric(t, "docket_controller_report_writes_total", map[string]string{"result": "foreign"})
	c.kubectl.RunInput(t, labelPolicy("", "taken", rule{"a", "ConfigMap", "a"}), "apply", "-f", "-")
	defer c.kubectl.Run(t, "delete", "clusterpolicy", "taken")
	waitUntil(t, "the metric tells of it", func() bool {
		return c.controller.Metric(t, "docket_controller_report_writes_total", map[string]string{"result": "foreign"}) > failed
	})
	report := testkit.Must(c.client.Resource(wgReports()).Namespace("occupied").Get(t.Context(), "polr-ns-occupied-taken", metav1.GetOptions{}))(t)
	if report.GetLabels()["of"] != "another" || len(report.GetLabels()) != 1 {
		t.Errorf("the foreign report was changed: %v", report.GetLabels())
	}
	// Others are written all the same.
	waitUntil(t, "other namespaces have reports", func() bool { return c.results(t, "shop")["taken a ConfigMap/one"] == "pass" })
}

// troubleQuota: a namespace that may not have reports gets them once it may.
func troubleQuota(t *testing.T, c *controlled) {
	c.cluster.EnsureNamespace(t, "poor")
	c.kubectl.RunInput(t, configMaps("poor", "one"), "apply", "-n", "poor", "-f", "-")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "reports"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{"count/policyreports.wgpolicyk8s.io": quantity.MustParse("0")},
	}}
	quotas := c.cluster.Client(t).CoreV1().ResourceQuotas("poor")
	testkit.Must(quotas.Create(t.Context(), quota, metav1.CreateOptions{}))(t)
	waitUntil(t, "the quota is in force", func() bool {
		found, err := quotas.Get(t.Context(), "reports", metav1.GetOptions{})
		return err == nil && len(found.Status.Hard) > 0
	})
	failed := c.controller.Metric(t, "docket_controller_report_writes_total", map[string]string{"result": "forbidden"})
	c.kubectl.RunInput(t, labelPolicy("poor", "labels", rule{"a", "ConfigMap", "a"}), "apply", "-n", "poor", "-f", "-")
	waitUntil(t, "the metric tells of it", func() bool {
		return c.controller.Metric(t, "docket_controller_report_writes_total", map[string]string{"result": "forbidden"}) > failed
	})
	if got := c.results(t, "poor"); len(got) != 0 {
		t.Fatalf("the quota did not hold: %v", got)
	}
	testkit.NoError(t, quotas.Delete(t.Context(), "reports", metav1.DeleteOptions{}))
	c.wantResults(t, "poor", map[string]string{"poor/labels a ConfigMap/one": "pass"})
}

// troubleBadPolicy: error results and an Event; good policies are not disturbed.
func troubleBadPolicy(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, `
apiVersion: kyverno.io/v1
kind: Policy
metadata: {name: bad, namespace: shop}
spec:
  rules:
  - name: missing
    match: {any: [{resources: {kinds: [ConfigMap], names: [one]}}]}
    validate:
      message: never
      deny: {conditions: {any: [{key: "{{ request.object.data.nothing.here }}", operator: Equals, value: x}]}}
`, "apply", "-n", "shop", "-f", "-")
	defer c.kubectl.Run(t, "delete", "-n", "shop", "policy.kyverno.io/bad")
	waitUntil(t, "there is an error result", func() bool { return c.results(t, "shop")["shop/bad missing ConfigMap/one"] == "error" })

	c.kubectl.RunInput(t, `
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: broken-cel}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "object.metadata.name ==", message: never}]
`, "apply", "-f", "-")
	defer c.kubectl.Run(t, "delete", "validatingpolicies.policies.kyverno.io", "broken-cel")
	waitUntil(t, "the policy has an Event", func() bool {
		return strings.Contains(c.kubectl.Run(t, "get", "events", "-A"), "broken-cel")
	})
	waitUntil(t, "its results say why", func() bool { return c.results(t, "shop")["broken-cel  ConfigMap/one"] == "error" })
}

// troubleKinds: a policy about a kind that does not exist yet.
func troubleKinds(t *testing.T, c *controlled) {
	c.kubectl.RunInput(t, labelPolicy("", "widgets", rule{"a", "Widget", "a"}), "apply", "-f", "-")
	c.kubectl.RunInput(t, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, "apply", "-f", "-")
	waitUntil(t, "the kind is served", func() bool {
		widget := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"shop","labels":{"a":"1"}}}`
		return c.kubectl.Try(t, widget, "apply", "-n", "shop", "-f", "-").Code == 0
	})
	waitUntil(t, "its objects are evaluated", func() bool { return c.results(t, "shop")["widgets a Widget/w"] == "pass" })
	deleteWidgets(t, c.kubectl)
	waitUntil(t, "its results are gone", func() bool {
		_, there := c.results(t, "shop")["widgets a Widget/w"]
		return !there
	})
	c.kubectl.Run(t, "delete", "clusterpolicy", "widgets")
}

// troubleSwitch: one report for each namespace instead, and back. At each moment every result is
// in some report.
func troubleSwitch(t *testing.T, c *controlled, want map[string]string) {
	c.wantResults(t, "shop", want)
	split := c.namesOf(t, "shop")
	for _, step := range []struct {
		flags []string
		done  func() bool
	}{
		{[]string{"--split-policy-report=false"}, func() bool { return slices.Equal(c.namesOf(t, "shop"), []string{"polr-ns-shop"}) }},
		{[]string{"--reports-api=openreports.io"}, func() bool { return c.onlyGroup(t, "openreports.io") }},
		{[]string{"--split-policy-report=true", "--reports-api=wgpolicyk8s.io"}, func() bool {
			return slices.Equal(c.namesOf(t, "shop"), split) && c.onlyGroup(t, "wgpolicyk8s.io")
		}},
	} {
		c.controller.Stop(t)
		c.controller.Start(t, step.flags...)
		waitUntil(t, fmt.Sprintf("%v has replaced the old reports", step.flags), func() bool {
			got := c.results(t, "shop")
			for key := range want {
				if got[key] == "" {
					t.Fatalf("%v: %s is in no report", step.flags, key)
				}
			}
			return step.done()
		})
		c.wantResults(t, "shop", want)
	}
}

// onlyGroup reports whether all reports are of one API group.
func (c *controlled) onlyGroup(t *testing.T, group string) bool {
	t.Helper()
	for _, report := range c.reports(t) {
		if !strings.HasPrefix(report.GetAPIVersion(), group+"/") {
			return false
		}
	}
	return true
}

// TestControllerLeaderKilled: another replica takes over in mid-scan and completes it.
func TestControllerLeaderKilled(t *testing.T) {
	t.Parallel()
	const subjects = 400
	c := startControlled(t)
	c.cluster.EnsureNamespace(t, "many")
	var names []string
	for i := range subjects {
		names = append(names, fmt.Sprintf("map-%03d", i))
	}
	c.kubectl.RunInput(t, configMaps("many", names...), "create", "-n", "many", "-f", "-")
	for i := range 10 {
		c.kubectl.RunInput(t, labelPolicy("many", fmt.Sprintf("p%d", i), rule{"a", "ConfigMap", "a"}, rule{"b", "ConfigMap", "b"}), "apply", "-n", "many", "-f", "-")
	}
	elect := []string{"--leader-elect=true", "--leader-elect-namespace=default"}
	first := harness.RunController(t, c.cluster.Kubeconfig(), elect...)
	second := harness.NewController(t, c.cluster.Kubeconfig(), elect...)
	waitUntil(t, "the first one scans", func() bool {
		return first.Metric(t, "docket_controller_evaluations_total", nil) > 0
	})
	second.Start(t)
	if got := second.Metric(t, "docket_controller_evaluations_total", nil); got != 0 {
		t.Errorf("the replica that stands by has evaluated %v times", got)
	}
	first.Kill(t)
	want := map[string]string{}
	for i := range 10 {
		for _, name := range names {
			want[fmt.Sprintf("many/p%d a ConfigMap/%s", i, name)] = "pass"
			want[fmt.Sprintf("many/p%d b ConfigMap/%s", i, name)] = "fail"
		}
	}
	c.wantResults(t, "many", want)
}

// TestControllerServerAway: Docket is away for a while; nothing is lost, nothing is removed.
func TestControllerServerAway(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	cluster := harness.StartCluster(t)
	replica := cluster.Serve(t)
	cluster.Register(t, replica.Port)
	c := startControlledOn(t, cluster)
	c.cluster.EnsureNamespace(t, "shop")
	c.kubectl.RunInput(t, configMaps("shop", "one"), "apply", "-n", "shop", "-f", "-")
	c.kubectl.RunInput(t, labelPolicy("shop", "labels", rule{"a", "ConfigMap", "a"}), "apply", "-n", "shop", "-f", "-")
	c.controller.Start(t)
	c.wantResults(t, "shop", inShop("shop/labels", map[string]string{"a": "a"}, map[string]string{"one": "a"}))
	replica.Kill(t)
	c.kubectl.RunInput(t, configMaps("shop", "two"), "apply", "-n", "shop", "-f", "-")
	c.kubectl.Run(t, "delete", "-n", "shop", "configmap", "one")
	waitUntil(t, "writes fail, again and again", func() bool {
		return c.controller.Metric(t, "docket_controller_report_writes_total", map[string]string{"result": "error"}) >= 3
	})
	replica.Start(t)
	cluster.WaitAvailable(t)
	c.wantResults(t, "shop", inShop("shop/labels", map[string]string{"a": "a"}, map[string]string{"two": "a"}))
}

// TestControllerReportsAPIMissing: the API of the reports is missing when the controller starts, first because nobody
// has installed Docket, then because Docket is away when another replica begins to lead. The process stays, says why
// it waits, and writes complete reports once the API is available.
func TestControllerReportsAPIMissing(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	cluster := harness.StartCluster(t)
	c := startControlledOn(t, cluster)
	c.cluster.EnsureNamespace(t, "shop")
	c.kubectl.RunInput(t, configMaps("shop", "one"), "apply", "-n", "shop", "-f", "-")
	c.kubectl.RunInput(t, labelPolicy("shop", "labels", rule{"a", "ConfigMap", "a"}), "apply", "-n", "shop", "-f", "-")
	elect := []string{"--leader-elect=true", "--leader-elect-namespace=default"}
	c.controller = harness.NewController(t, cluster.Kubeconfig(), elect...)
	c.controller.Launch(t)
	c.waitsForReports(t, "could not find the requested resource")

	replica := cluster.NewReplica(t)
	cluster.RegisterWith(t, replica.Port, cluster.DocketAuthority())
	c.waitsForReports(t, "unable to handle the request") // It is registered, and nobody listens.
	replica.Start(t)
	cluster.WaitAvailable(t)
	one := inShop("shop/labels", map[string]string{"a": "a"}, map[string]string{"one": "a"})
	c.wantResults(t, "shop", one)
	c.wantScanned(t)

	first := c.controller
	second := harness.NewController(t, cluster.Kubeconfig(), elect...)
	second.Start(t)
	replica.Kill(t)
	first.Kill(t)
	c.controller = second
	c.waitsForReports(t, "unable to handle the request")
	c.kubectl.RunInput(t, configMaps("shop", "two"), "apply", "-n", "shop", "-f", "-")
	c.kubectl.Run(t, "delete", "-n", "shop", "configmap", "one")
	replica.Start(t)
	cluster.WaitAvailable(t)
	c.wantResults(t, "shop", inShop("shop/labels", map[string]string{"a": "a"}, map[string]string{"two": "a"}))
	c.wantScanned(t)
}

// waitsForReports waits until the controller leads and says that it waits for reports, and why. It lives, and has not
// scanned.
func (c *controlled) waitsForReports(t *testing.T, why string) {
	t.Helper()
	var status int
	var text string
	defer func() {
		if t.Failed() {
			t.Logf("the last probe was answered by %d: %s", status, text)
		}
	}()
	waitUntil(t, "the controller says why it waits: "+why, func() bool {
		status, text = c.controller.Probe(t, "/readyz/scan")
		return status == http.StatusServiceUnavailable && strings.Contains(text, "not read yet, will retry") && strings.Contains(text, why)
	})
	wantOutput(t, c.controller.Log(), "The reports that exist can't be read; will retry")
	wantOutput(t, c.controller.Log(), why)
	waitUntil(t, "the controller is ready, though it has not scanned", func() bool {
		status, text = c.controller.Probe(t, "/readyz")
		return status == http.StatusOK
	})
	if status, text = c.controller.Probe(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz answered %d: %s", status, text)
	}
	if got := c.evaluations(t); got != 0 {
		t.Errorf("%v evaluations without knowing the reports", got)
	}
}

// wantScanned waits until the first scan is complete, in the process that began to wait for the API.
func (c *controlled) wantScanned(t *testing.T) {
	t.Helper()
	waitUntil(t, "the scan is complete", func() bool {
		status, _ := c.controller.Probe(t, "/readyz/scan")
		return status == http.StatusOK
	})
	if !c.controller.Alive() || strings.Contains(c.controller.Log(), "--- started again ---") {
		t.Error("the controller has ended")
	}
}
