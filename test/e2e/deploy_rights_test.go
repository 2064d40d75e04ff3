// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// testLeastPrivilege follows docs/start/install.md with a certificate by `docket bootstrap`,
// and starts the server by hand where a kubelet would.
func testLeastPrivilege(t *testing.T, c *harness.Cluster, i installation) {
	t.Helper()
	kubectl := c.Kubectl(t, deployNamespace)
	dir := t.TempDir()
	authority, secret := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "docket-tls.yaml")
	c.EnsureNamespace(t, deployNamespace)
	docket(t, "bootstrap", "certificate", "--ca-file", authority, "--out", secret)
	kubectl.Run(t, "apply", "-f", secret)
	bundle := testkit.Must(os.ReadFile(authority))(t)
	i.install(t, c, "certificate.caBundle="+base64.StdEncoding.EncodeToString(bundle))
	defer i.remove(t, c)

	token := strings.TrimSpace(kubectl.Run(t, "create", "token", "docket"))
	kubeconfig := c.KubeconfigOf(t, "docket", token)
	key := secretFiles(t, kubectl, dir)
	replica := c.NewReplica(t, "--kubeconfig", kubeconfig, "--cluster", "auto", "--tls-sni-cert-key", key+":docket."+deployNamespace+".svc")
	replica.Start(t)
	if i.tool() == "kustomize" {
		anyNamespace(t, c).RunInput(t, docket(t, "bootstrap", "--ca-file", authority), "apply", "-f", "-")
	}
	defer kubectl.Run(t, "delete", "apiservices", "-l", "app.kubernetes.io/name=docket")
	reach(t, kubectl, replica.Port)
	kubectl.Run(t, "wait", "--for=condition=Available", "apiservices", "-l", "app.kubernetes.io/name=docket", "--timeout=50s")
	c.WaitAvailable(t)

	checkServes(t, c)
	checkNothingForbidden(t, replica)
	checkMetricsElsewhere(t, c, kubectl, kubeconfig)
}

// docket runs the binary under test.
func docket(t *testing.T, arguments ...string) string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), harness.Docket(t), arguments...).Output()
	if err != nil {
		t.Fatalf("docket %s: %v", strings.Join(arguments, " "), err)
	}
	return string(output)
}

// secretFiles writes what a kubelet would mount, and returns the paths of certificate
// and key.
func secretFiles(t *testing.T, kubectl *harness.Kubectl, dir string) string {
	t.Helper()
	var secret struct{ Data map[string][]byte }
	testkit.NoError(t, json.Unmarshal([]byte(kubectl.Run(t, "get", "secret", "docket-tls", "-o", "json")), &secret))
	var paths []string
	for _, name := range []string{"tls.crt", "tls.key"} {
		path := filepath.Join(dir, name)
		testkit.NoError(t, os.WriteFile(path, secret.Data[name], 0o600))
		paths = append(paths, path)
	}
	return strings.Join(paths, ",")
}

// reach stands in for the network of pods: the Service becomes a name of this machine,
// and the APIServices ask the replica's port.
func reach(t *testing.T, kubectl *harness.Kubectl, port int) {
	t.Helper()
	kubectl.Run(t, "patch", "service", "docket", "--type=merge",
		"-p", `{"spec":{"type":"ExternalName","externalName":"localhost","clusterIP":"","clusterIPs":null,"selector":null}}`)
	// All of the manifests, results among them: one that nobody answers for would keep namespaces from ending.
	services := kubectl.Run(t, "get", "apiservices", "-l", "app.kubernetes.io/name=docket", "-o", "name")
	for _, name := range strings.Fields(services) {
		kubectl.Run(t, "patch", name, "--type=merge", "-p", `{"spec":{"service":{"port":`+strconv.Itoa(port)+`}}}`)
	}
}

// checkServes writes and reads through kube-apiserver, and meets admission.
func checkServes(t *testing.T, c *harness.Cluster) {
	t.Helper()
	kubectl := c.Kubectl(t, tenant)
	report := func(name, namespace string) string {
		return `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"` + name + `","namespace":"` + namespace + `"}}`
	}
	kubectl.Run(t, "create", "quota", "few", "--hard=count/policyreports.wgpolicyk8s.io=1")
	defer kubectl.Run(t, "delete", "quota", "few")
	// Until the cluster has counted, everything is refused.
	waitUntil(t, "the quota has a status", func() bool {
		return strings.Contains(kubectl.Run(t, "get", "quota", "few", "-o", "jsonpath={.status.used}"), "policyreports")
	})
	kubectl.RunInput(t, report("first", tenant), "create", "-f", "-")
	defer kubectl.Run(t, "delete", "policyreport", "first")
	kubectl.Refused(t, report("second", tenant), []string{"exceeded quota", "few"}, "create", "-f", "-")
	if got := kubectl.Run(t, "get", "policyreports", "-o", "name"); got != "policyreport.wgpolicyk8s.io/first\n" {
		t.Errorf("policyreports: %q", got)
	}
	for user, want := range map[string]string{"view": "no\n", "admin": "no\n", producerRole: "yes\n"} {
		if got := kubectl.As(user).Try(t, "", "auth", "can-i", "delete", "policyreports.wgpolicyk8s.io").Stdout; got != want {
			t.Errorf("%s may delete: %q, want %q", user, got, want)
		}
	}
	if got := kubectl.As("view").Run(t, "get", "policyreports", "-o", "name"); got != "policyreport.wgpolicyk8s.io/first\n" {
		t.Errorf("policyreports for a viewer: %q", got)
	}
	kubectl.Refused(t, report("first", "deploy-missing"), []string{"NotFound", "deploy-missing"}, "create", "-n", "deploy-missing", "-f", "-")
}

// checkNothingForbidden reads the server's log and metrics.
func checkNothingForbidden(t *testing.T, replica *harness.Replica) {
	t.Helper()
	for _, line := range strings.Split(replica.Log(), "\n") {
		for _, word := range []string{"forbidden", "Forbidden", "cannot list", "Left out", "Unauthorized"} {
			if strings.Contains(line, word) {
				t.Errorf("the server's log says: %s", line)
			}
		}
	}
	metrics := replica.Metrics(t)
	if strings.Contains(metrics, "docket_apiserver_unmet_requirement{") {
		t.Error("a part was left out")
	}
	if !strings.Contains(metrics, "\napiserver_flowcontrol_dispatched_requests_total{") {
		t.Error("priority and fairness does not work")
	}
}

// checkMetricsElsewhere looks for the metrics of alerts that no server of deploy's own
// test has.
func checkMetricsElsewhere(t *testing.T, c *harness.Cluster, kubectl *harness.Kubectl, kubeconfig string) {
	t.Helper()
	if !strings.Contains(kubectl.Run(t, "get", "--raw", "/metrics"), "\naggregator_unavailable_apiservice{") {
		t.Error("kube-apiserver has no metric aggregator_unavailable_apiservice")
	}
	// Without its role the server says what it lacks.
	kubectl.Run(t, "delete", "clusterrolebinding", "docket:server")
	waitUntil(t, "the right to list namespaces is gone", func() bool {
		return !may(t, c, "system:serviceaccount:"+deployNamespace+":docket", "list", "", "namespaces")
	})
	lame := c.Serve(t, "--kubeconfig", kubeconfig)
	if !strings.Contains(lame.Metrics(t), `docket_apiserver_unmet_requirement{part="NamespaceLifecycle"} 1`) {
		t.Errorf("a server without rights has no metric docket_apiserver_unmet_requirement; its log is\n%s", lame.Log())
	}
	lame.Stop(t)
}
