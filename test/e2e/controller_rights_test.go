// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

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
}

// TestControllerLaptop is the loop of the README: manifests, examples and no cluster.
func TestControllerLaptop(t *testing.T) {
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
}
