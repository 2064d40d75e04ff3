// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// TestControllerRights runs the controller with no rights but those of its ServiceAccount in
// deploy/controller, with leader election.
func TestControllerRights(t *testing.T) {
	t.Parallel()
	c := startControlled(t)
	controller := startLimited(t, c)
	c.controller = controller

	c.cluster.EnsureNamespace(t, "shop")
	c.kubectl.RunInput(t, configMaps("shop", "one"), "apply", "-n", "shop", "-f", "-")
	c.kubectl.RunInput(t, labelPolicy("", "labels", rule{"a", "ConfigMap", "a"}, rule{"b", "Secret", "b"}), "apply", "-f", "-")
	c.wantResults(t, "shop", map[string]string{"labels a ConfigMap/one": "pass"})
	// Secrets are not among the kinds that it may read: it says so, and the others go on.
	waitUntil(t, "an Event names the kind", func() bool {
		return strings.Contains(c.kubectl.Run(t, "get", "events", "-A"), "secrets")
	})
	if got := controller.Metric(t, "docket_controller_report_writes_total", map[string]string{"result": "forbidden"}); got != 0 {
		t.Errorf("%v writes of reports were forbidden", got)
	}
	for line := range strings.Lines(controller.Log()) {
		if strings.Contains(line, "is forbidden") && !strings.Contains(line, "secrets") {
			t.Errorf("forbidden: %s", line)
		}
	}
	c.kubectl.RunInput(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: more-for-the-controller
  labels: {rbac.docket.dev/aggregate-to-controller: "true"}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get, list, watch]}]
`, "apply", "-f", "-")
	c.kubectl.Run(t, "create", "secret", "generic", "two", "-n", "shop")
	c.wantResults(t, "shop", map[string]string{"labels a ConfigMap/one": "pass", "labels b Secret/two": "fail"})

	controller.Stop(t)
	controller.GuardMetrics()
	controller.Start(t)
	wantMetricsForThoseWhoMay(t, c)
}

// wantMetricsForThoseWhoMay asks for metrics with and without a token, and with the right to read them, as the cluster
// tells the controller.
func wantMetricsForThoseWhoMay(t *testing.T, c *controlled) {
	t.Helper()
	kubectl := c.cluster.Kubectl(t, "shop")
	kubectl.Run(t, "create", "serviceaccount", "scraper")
	token := strings.TrimSpace(kubectl.Run(t, "create", "token", "scraper"))
	for _, one := range []struct {
		token, text string
		status      int
	}{
		{"", "give the bearer token of an account of the cluster", http.StatusUnauthorized},
		{"wrong", "give the bearer token of an account of the cluster", http.StatusUnauthorized},
		{token[:len(token)-8], "give the bearer token of an account of the cluster", http.StatusUnauthorized},
		{token, `"system:serviceaccount:shop:scraper" may not get the path /metrics`, http.StatusForbidden},
	} {
		if status, text := c.controller.Metrics(t, one.token); status != one.status || !strings.Contains(text, one.text) || strings.Contains(text, "docket_controller_") {
			t.Errorf("with the token %.8q the answer is %d %.500s, want %d with %q", one.token, status, text, one.status, one.text)
		}
	}
	kubectl.Run(t, "create", "clusterrole", "metrics-reader", "--verb=get", "--non-resource-url=/metrics")
	kubectl.Run(t, "create", "clusterrolebinding", "metrics-reader", "--clusterrole=metrics-reader", "--serviceaccount=shop:scraper")
	waitUntil(t, "who may read metrics gets some", func() bool { // It believes the last answer for a while.
		status, text := c.controller.Metrics(t, token)
		return status == http.StatusOK && strings.Contains(text, "docket_controller_")
	})
	if status, _ := c.controller.Metrics(t, ""); status != http.StatusUnauthorized {
		t.Errorf("without a token the status is %d", status)
	}
}

// TestControllerLaptop is the loop of the README: manifests, examples and no cluster.
func TestControllerLaptop(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	up := harness.Up(t)
	examples := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(harness.PolicyCRDs(t)))), "examples")
	scan := exec.CommandContext(t.Context(), harness.ControllerBinary(t), "scan", "--policy", filepath.Join(examples, "policies"),
		"--resource", filepath.Join(examples, "app"), "--to", up.Kubeconfig(), "--create-namespaces")
	output, err := scan.CombinedOutput()
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 1 || !strings.Contains(string(output), "pinned-images") {
		t.Errorf("the scan of the examples, which has findings, ended with %v:\n%s", err, output)
	}
	kubectl := up.Kubectl(t, "shop")
	wantOutput(t, kubectl.Run(t, "get", "polr"), "polr-ns-shop-pinned-images")
	wantOutput(t, kubectl.Run(t, "get", "cpolr"), "clusterpolicyreport-namespace-owner")
	logOfNoPolicies(t, up, kubectl)
}

// logOfNoPolicies runs a controller where reports are and no policies: the log says that all reports
// go before they do, how many went, and why.
func logOfNoPolicies(t *testing.T, up *harness.Server, kubectl *harness.Kubectl) {
	t.Helper()
	kubectl.Run(t, "apply", "-k", harness.PolicyCRDs(t))
	count := strings.Count(kubectl.Run(t, "get", "polr,cpolr", "-A", "-o", "name"), "/")
	controller := harness.RunController(t, up.Kubeconfig(), "--leader-elect=false")
	done := fmt.Sprintf(`deleted=%d why="no policy for them any more: %[1]d" reports=0`, count)
	waitUntil(t, "the reports have gone", func() bool { return strings.Contains(controller.Log(), done) })
	controller.Stop(t)
	rest := controller.Log()
	for _, want := range []string{
		`"Starting" version="docket-controller `, `"Leading: `, fmt.Sprintf(`"Read the reports that exist" reports=%d`, count),
		"there are no policies, so nothing was evaluated", fmt.Sprintf(`"All reports that exist are about to be deleted" err="there is nothing to report" reports=%d`, count),
		done, `"Stopped leading: `, `"Stopped" why="the process was told to end"`,
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("the log does not say, or not in this order, %s:\n%s", want, controller.Log())
		}
		rest = after
	}
}
