// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/kit/testkit"
)

const (
	controllerAlerts    = "chart/controller/monitoring/prometheusrule.yaml"
	controllerDashboard = "chart/controller/monitoring/dashboard.json"
)

// TestControllerAlerts runs promtool's checks, and its tests of alerts in testdata.
func TestControllerAlerts(t *testing.T) {
	t.Parallel()
	_, rules := alertsOf(t, controllerAlerts)
	checkAlerts(t, rules, "testdata/controller-alerts.yaml")
}

// TestControllerDashboard checks the layout, each query, and that the operator's users get it by
// kustomize and by the chart.
func TestControllerDashboard(t *testing.T) {
	t.Parallel()
	checkDashboard(t, readDashboard(t, controllerDashboard))
	want := text(t, controllerDashboard)
	for variant, all := range map[string]objects{
		"kustomize": kustomize(t, "testdata/controller-monitoring"),
		"helm":      helm(t, "reports", "controller.enabled=true", "monitoring.enabled=true"),
	} {
		object := all["ConfigMap docket-controller-dashboard"]
		if object == nil {
			t.Errorf("%s: there is no ConfigMap", variant)
			continue
		}
		got := convert[corev1.ConfigMap](t, object)
		if got.Labels["grafana_dashboard"] != "1" || strings.TrimSpace(got.Data["docket-controller.json"]) != strings.TrimSpace(want) {
			t.Errorf("%s: labels %v, %d bytes of %d", variant, got.Labels, len(got.Data["docket-controller.json"]), len(want))
		}
	}
}

// controllerMetrics returns the names of metrics in the code of the controller, which is another
// module and not built here, and of what its libraries bring.
func controllerMetrics(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{"up": true}
	metric := regexp.MustCompile(`(?:Name: +|metric\.(\w+)\()"(docket_controller_[a-z_]+)"`)
	testkit.NoError(t, filepath.WalkDir(filepath.Join(root, "controller", "internal"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, match := range metric.FindAllStringSubmatch(string(data), -1) {
			names[match[2]] = true
			if strings.HasPrefix(match[1], "Counter") != strings.HasSuffix(match[2], "_total") {
				t.Errorf("%s: %s is a %s: the names of counters, and of no others, end in _total", path, match[2], match[1])
			}
		}
		return err
	}))
	return names
}

// TestControllerMetricsExist finds alerts and panels on metrics that nobody has, and metrics that
// docs/operate/operations.md does not explain.
func TestControllerMetricsExist(t *testing.T) {
	t.Parallel()
	served := controllerMetrics(t)
	rules, _ := alertsOf(t, controllerAlerts)
	expressions := dashboardExpressions(readDashboard(t, controllerDashboard))
	for _, r := range rules {
		expressions = append(expressions, r.Expr)
	}
	for _, expression := range expressions {
		names := metricNames(expression)
		if len(names) == 0 {
			t.Errorf("no metric in %s", expression)
		}
		for _, name := range names {
			if !served[strings.TrimSuffix(name, "_bucket")] {
				t.Errorf("the controller has no metric %s of %s", name, expression)
			}
		}
	}
	page := text(t, filepath.Join(root, "docs", "operate", "operations.md"))
	documented := regexp.MustCompile("`(docket_controller_[a-z_]+)")
	for _, match := range documented.FindAllStringSubmatch(page, -1) {
		if !served[match[1]] {
			t.Errorf("docs/operate/operations.md has %s, the controller has not", match[1])
		}
	}
	for name := range served {
		if strings.HasPrefix(name, "docket_") && !strings.Contains(page, "`"+name) {
			t.Errorf("docs/operate/operations.md does not have %s", name)
		}
	}
}

// TestControllerIsScraped follows the ServiceMonitor to the port of the pods.
func TestControllerIsScraped(t *testing.T) {
	t.Parallel()
	all := kustomize(t, "testdata/controller-monitoring")
	monitor := all["ServiceMonitor "+controllerName]
	if monitor == nil {
		t.Fatal("there is no ServiceMonitor")
	}
	selector, _ := testkit.Must2(unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels"))(t)
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	if err != nil || len(endpoints) != 1 {
		t.Fatalf("endpoints %v, %v", endpoints, err)
	}
	var selected []string
	for key, object := range all {
		if strings.HasPrefix(key, "Service ") && labelsMatch(selector, object.GetLabels()) {
			selected = append(selected, object.GetName())
		}
	}
	if !slices.Equal(selected, []string{controllerName}) {
		t.Fatalf("it selects the Services %q", selected)
	}
	service := convert[corev1.Service](t, all["Service "+controllerName])
	port := service.Spec.Ports[0]
	endpoint, _ := endpoints[0].(map[string]any)
	container := controllerPod(t, all).Containers[0].Ports[0]
	if endpoint["port"] != port.Name || port.TargetPort.StrVal != container.Name || port.Port != container.ContainerPort {
		t.Errorf("port %v of the monitor, %v of the Service, %v of the container", endpoint["port"], port, container)
	}
	// The job that the alerts select by.
	if label, _, _ := unstructured.NestedString(monitor.Object, "spec", "jobLabel"); service.Labels[label] != controllerName {
		t.Errorf("job %q", service.Labels[label])
	}
}

func labelsMatch(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}
