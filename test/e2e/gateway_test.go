// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// rightsInOneNamespace are those of somebody who owns the namespace APPS and nothing else. The
// rights on reports are for an extension that the cluster doesn't know.
const rightsInOneNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: APPS}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: owner, namespace: APPS}
rules:
- {apiGroups: ["", apps, batch], resources: ["*"], verbs: ["*"]}
- {apiGroups: [wgpolicyk8s.io], resources: [policyreports], verbs: ["*"]}
- {apiGroups: [results.docket.dev], resources: [policyresults, localresultqueries], verbs: [get, list, create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: owner, namespace: APPS}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: owner}
subjects: [{kind: ServiceAccount, name: gina, namespace: OTHERS}]
`

// owner owns a namespace of a cluster, and has no rights elsewhere.
type owner struct {
	// apps is their namespace; their account is in others, and outlives it.
	apps, others string
	// gina is their name, and kubeconfig the path of their file.
	gina, kubeconfig string
}

func newOwner(t *testing.T, c *harness.Cluster) owner {
	t.Helper()
	n := owner{others: c.Namespace(t, "others")}
	n.apps = "apps-of-" + n.others
	n.gina = "system:serviceaccount:" + n.others + ":gina"
	others := c.Kubectl(t, n.others)
	others.Run(t, "create", "serviceaccount", "gina")
	c.Kubectl(t, n.apps).RunInput(t, n.rights(), "apply", "-f", "-")
	n.kubeconfig = c.KubeconfigOf(t, "gina", strings.TrimSpace(others.Run(t, "create", "token", "gina", "--duration=1h")))
	return n
}

// rights make the namespace and what its owner may do there.
func (n owner) rights() string {
	return strings.NewReplacer("APPS", n.apps, "OTHERS", n.others).Replace(rightsInOneNamespace)
}

// serveReports starts `docket serve` behind a gateway by `docket run`.
func serveReports(t *testing.T, gateway *harness.Server) {
	t.Helper()
	harness.RunExtension(t, gateway.Kubeconfig(), gateway.Dir, harness.Docket(t), "serve",
		"--database=sqlite://"+t.TempDir()+"/reports.db", "--cluster=behind-the-gateway")
}

// TestGatewayWithRightsInOneNamespace: a user may do through the gateway exactly as much as
// directly; and an extension that the cluster does not know is served beside it.
func TestGatewayWithRightsInOneNamespace(t *testing.T) {
	t.Parallel()
	c := harness.SharedCluster(t)
	mine := newOwner(t, c)
	kubelet := c.StartKubelet(t, "node-of-"+mine.apps)
	gateway := harness.Gateway(t, mine.kubeconfig, "--namespace-interval=1s", "--discovery-interval=1s")
	kubectl := gateway.Kubectl(t, mine.apps)
	kubelet.RunPod(t, mine.apps, "web")

	t.Run("as in the cluster", func(t *testing.T) { testGatewayPassesOn(t, c, mine, kubectl) })
	for name, webSocket := range streams {
		t.Run(name, func(t *testing.T) {
			kubectl := kubectl.WithEnv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+webSocket, "KUBECTL_PORT_FORWARD_WEBSOCKETS="+webSocket)
			testExec(t, kubectl, "web")
			testAttach(t, kubectl, "web")
			testPortForward(t, kubectl, "web")
			pod := "logs-" + name
			kubelet.RunPod(t, mine.apps, pod)
			testLogs(t, kubectl, kubelet, mine.apps, pod)
		})
	}
	serveReports(t, gateway)
	t.Run("an extension", func(t *testing.T) { testGatewayExtension(t, c, mine, kubectl) })
}

func testGatewayPassesOn(t *testing.T, c *harness.Cluster, mine owner, kubectl *harness.Kubectl) {
	t.Helper()
	wantOutput(t, kubectl.Run(t, "auth", "whoami"), mine.gina)
	kubectl.Run(t, "create", "configmap", "first", "--from-literal=a=b")
	kubectl.RunInput(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second}\ndata: {a: c}\n", "apply", "--server-side", "-f", "-")
	kubectl.RunInput(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: second}\ndata: {a: d}\n", "apply", "--server-side", "-f", "-")
	events := kubectl.Watch(t, "configmaps")
	for range 2 { // The existing ConfigMaps.
		harness.Next(t, events)
	}
	kubectl.Run(t, "patch", "configmap", "first", "--type=merge", "-p", `{"data":{"a":"e"}}`)
	harness.Next(t, events)
	wantOutput(t, c.Kubectl(t, mine.apps).Run(t, "get", "configmap", "first", "second", "-o", "jsonpath={.items[*].data.a}"), "e d")
	wantOutput(t, kubectl.Run(t, "describe", "pod", "web"), "node-of-"+mine.apps)
	wantOutput(t, kubectl.Run(t, "explain", "deployment.spec.replicas"), "desired pods")
	wantOutput(t, kubectl.Run(t, "version"), "Server Version: "+harness.KubernetesVersion(t))
	wantOutput(t, kubectl.Run(t, "auth", "can-i", "delete", "pods"), "yes")
	kubectl.Refused(t, "", []string{"forbidden", mine.gina}, "get", "secrets", "-n", mine.others)
	kubectl.Refused(t, "", []string{"forbidden", mine.gina}, "get", "nodes")
	kubectl.Run(t, "delete", "configmap", "first")
}

func testGatewayExtension(t *testing.T, c *harness.Cluster, mine owner, kubectl *harness.Kubectl) {
	t.Helper()
	wantOutput(t, kubectl.Run(t, "api-resources", "-o", "name"), "policyreports.wgpolicyk8s.io", "deployments.apps", "pods")
	kubectl.RunInput(t, smallReport, "apply", "-f", "-")
	kubectl.RunInput(t, smallReport, "apply", "--server-side", "--field-manager=other", "--force-conflicts", "-f", "-")
	wantOutput(t, kubectl.Run(t, "get", "polr"), "first")
	wantOutput(t, kubectl.Run(t, "explain", "policyreports.results"), "results")
	wantOutput(t, kubectl.Run(t, "explain", "policyresults.policy"), "policy")
	wantOutput(t, kubectl.Run(t, "get", "pres"), "RESULT", "pass")
	wantOutput(t, kubectl.RunInput(t, query("LocalResultQuery"), "create", "--validate=false", "-o", "yaml", "-f", "-"), "policy: p", "results: 1")
	kubectl.Refused(t, "", []string{"forbidden", mine.gina}, "get", "pres", "-n", mine.others)
	kubectl.Refused(t, "", []string{"forbidden", mine.gina}, "get", "cpres")
	wantOutput(t, kubectl.Run(t, "auth", "can-i", "create", "policyreports"), "yes")
	kubectl.Refused(t, "", []string{"forbidden", mine.gina}, "get", "polr", "-n", mine.others)
	kubectl.Refused(t, "", []string{"forbidden", mine.gina}, "get", "cpolr")
	wantOutput(t, kubectl.Run(t, "get", "--raw", "/apiservers/healthz/v1alpha2.wgpolicyk8s.io"), `"available":true`)
	wantOutput(t, kubectl.Run(t, "get", "--raw", "/bootstrap/wgpolicyk8s.io"), "APIService", "ClusterRole")
	if direct := c.Kubectl(t, mine.apps).Run(t, "api-resources", "-o", "name"); strings.Contains(direct, "policyreports") {
		t.Error("the cluster itself knows the extension")
	}

	// A custom resource comes and goes in the cluster.
	admin := c.Kubectl(t, mine.apps)
	admin.RunInput(t, widgetDefinition, "apply", "-f", "-")
	served := func() bool {
		return strings.Contains(kubectl.Run(t, "api-resources", "-o", "name", "--cached=false"), "widgets")
	}
	waitUntil(t, "the gateway knows the custom resource", served)
	deleteWidgets(t, admin)
	waitUntil(t, "the gateway forgets the custom resource", func() bool { return !served() })

	// The cluster doesn't know which reports have to end with the namespace; the gateway does.
	admin.Run(t, "delete", "pods", "--all", "--force", "--grace-period=0") // There is no kubelet that ends them.
	admin.Run(t, "delete", "namespace", mine.apps)
	admin.RunInput(t, mine.rights(), "apply", "-f", "-")
	waitUntil(t, "the reports of the earlier namespace are gone", func() bool {
		return kubectl.Run(t, "get", "polr", "-o", "name") == ""
	})
}

// metricsBehindGateway returns a gateway with metrics-server, which knows a node, and the pod web of a namespace.
func metricsBehindGateway(t *testing.T, c *harness.Cluster) (gateway *harness.Server, apps string) {
	t.Helper()
	apps = c.Namespace(t, "apps")
	node := "node-of-" + apps
	c.StartKubelet(t, node).RunPod(t, apps, "web")
	gateway = harness.Gateway(t, c.Kubeconfig())
	harness.RunExtension(t, gateway.Kubeconfig(), gateway.Dir, harness.MetricsServer(t),
		"--kubelet-insecure-tls", "--kubelet-use-node-status-port", "--kubelet-preferred-address-types=InternalIP", "--metric-resolution=15s")
	kubectl := gateway.Kubectl(t, apps)
	waitUntil(t, "there are metrics of the pod", func() bool { return kubectl.Try(t, "", "top", "pod", "web").Code == 0 })
	waitUntil(t, "there are metrics of the node", func() bool { return kubectl.Try(t, "", "top", "node", node).Code == 0 })
	return gateway, apps
}

// TestGatewayMetricsServer: metrics-server, unmodified, in front of a cluster whose
// APIServices nobody touched.
func TestGatewayMetricsServer(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := harness.SharedCluster(t)
	_, apps := metricsBehindGateway(t, c)
	if direct := c.Kubectl(t, apps).Try(t, "", "top", "pod", "web"); direct.Code == 0 {
		t.Error("the cluster itself knows metrics-server")
	}
}

// TestGatewayToken: a gateway for a team passes each caller's own token on, and has no
// right of its own that a caller could borrow.
func TestGatewayToken(t *testing.T) {
	t.Parallel()
	c := harness.SharedCluster(t)
	mine := newOwner(t, c)
	nobody := c.KubeconfigOf(t, "gateway", strings.TrimSpace(c.Kubectl(t, mine.others).Run(t, "create", "token", "default", "--duration=1h")))
	gateway := harness.Gateway(t, nobody, "--profile=token")
	asGina, asAdmin := gateway.KubectlOf(t, mine.apps, mine.kubeconfig), gateway.KubectlOf(t, mine.apps, c.Kubeconfig())
	wantOutput(t, asGina.Run(t, "auth", "whoami"), mine.gina)
	asGina.Run(t, "create", "configmap", "first")
	asGina.Refused(t, "", []string{"forbidden", mine.gina}, "get", "configmaps", "-n", mine.others)
	waitUntil(t, "the cluster's own group versions are listed", func() bool {
		return strings.Contains(asGina.Run(t, "get", "apiservices"), "v1.apps ")
	})
	wantOutput(t, asGina.Run(t, "get", "--raw", "/apiservers/healthz"), `"available":true`)
	asGina.Refused(t, "", []string{"forbidden", mine.gina}, "delete", "apiservice", "v1.apps")
	wantOutput(t, asAdmin.Run(t, "get", "serviceaccounts", "-n", mine.others), "gina")
	wantOutput(t, asAdmin.Run(t, "get", "apiservices"), "v1.apps", "Local")
	testTeamKubeconfig(t, gateway, mine)
}

// testTeamKubeconfig follows docs/apiserver/aggregator.md: a caller takes the file of the gateway and adds what
// they have, a token or a user of their own kubeconfig.
func testTeamKubeconfig(t *testing.T, gateway *harness.Server, mine owner) {
	t.Helper()
	content := testkit.Must(os.ReadFile(filepath.Join(gateway.Dir, "team.kubeconfig")))(t)
	own := testkit.Must(clientcmd.LoadFromFile(mine.kubeconfig))(t)
	user := own.Contexts[own.CurrentContext].AuthInfo
	for name, do := range map[string]func(*harness.Kubectl){
		"a token": func(k *harness.Kubectl) {
			k.Run(t, "config", "set-credentials", "docket-gateway", "--token="+own.AuthInfos[user].Token)
		},
		"a user": func(k *harness.Kubectl) { k.Run(t, "config", "set-context", "docket-gateway", "--user="+user) },
	} {
		team := filepath.Join(t.TempDir(), "team.kubeconfig")
		testkit.NoError(t, os.WriteFile(team, content, 0o600))
		kubectl := harness.KubectlMerged(t, mine.apps, team, mine.kubeconfig)
		do(kubectl)
		wantOutput(t, kubectl.Run(t, "auth", "whoami"), mine.gina)
		wantOutput(t, kubectl.Run(t, "get", "apiservices"), "v1.apps")
		if t.Failed() {
			t.Logf("with %s", name)
		}
	}
}

// TestGatewayNamespaceMadeAnew: rights in a namespace end with it, so that the gateway sees
// neither its end nor, for a while, its successor. What was in the earlier one must never be seen in
// the later one, also when the gateway was away in between.
func TestGatewayNamespaceMadeAnew(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := harness.SharedCluster(t)
	mine := newOwner(t, c)
	// Nothing depends on a look at the right moment.
	gateway := harness.Gateway(t, mine.kubeconfig, "--namespace-interval=1h", "--listen", "127.0.0.1:"+strconv.Itoa(testenv.FreePort(t)))
	serveReports(t, gateway)
	kubectl, admin := gateway.Kubectl(t, mine.apps), c.Kubectl(t, mine.apps)
	for _, away := range []bool{false, true} {
		waitUntil(t, "the report is there", func() bool { return kubectl.Try(t, smallReport, "apply", "-f", "-").Code == 0 })
		wantOutput(t, kubectl.Run(t, "get", "polr", "-o", "name"), "first")
		if away {
			gateway.Kill(t)
		}
		admin.Run(t, "delete", "namespace", mine.apps)
		if away {
			gateway.Start(t)
		}
		admin.RunInput(t, mine.rights(), "apply", "-f", "-")
		var seen string
		waitUntil(t, "the user may read reports again", func() bool {
			answer := kubectl.Try(t, "", "get", "polr", "-o", "name")
			seen = answer.Stdout
			return answer.Code == 0
		})
		if seen != "" {
			t.Fatalf("gateway away: %v: the new namespace shows what was in the earlier one: %s", away, seen)
		}
	}
	kubectl.RunInput(t, smallReport, "apply", "-f", "-")
	wantOutput(t, kubectl.Run(t, "get", "polr", "-o", "name"), "first")
}

// TestGatewayShadow: an extension may take a group version from the cluster for clients of
// the gateway, if a flag allows it, and for nobody else; when it ends, the cluster's is back.
func TestGatewayShadow(t *testing.T) {
	t.Parallel()
	c := harness.StartCluster(t)
	c.InstallCRDs(t)
	c.EnsureNamespace(t, "apps")
	admin := c.Kubectl(t, "apps")
	admin.RunInput(t, smallReport, "apply", "-f", "-")
	gateway := harness.Gateway(t, c.Kubeconfig(), "--discovery-interval=1s")
	kubectl := gateway.Kubectl(t, "apps")
	wantOutput(t, kubectl.Run(t, "get", "polr", "-o", "name"), "first")
	serve := []string{harness.Docket(t), "serve", "--database=sqlite://" + t.TempDir() + "/reports.db", "--cluster=mine"}
	for want, flags := range map[string][]string{
		"--shadow lets yours replace": {"--kubeconfig", gateway.Kubeconfig(), "--dir", gateway.Dir},
		"is not a docket gateway":     {"--shadow", "--group-version=wgpolicyk8s.io/v1alpha2", "--kubeconfig", c.Kubeconfig(), "--dir", gateway.Dir},
	} {
		arguments := slices.Concat([]string{"run"}, flags, []string{"--"}, serve)
		if output, err := exec.CommandContext(t.Context(), harness.Docket(t), arguments...).CombinedOutput(); err == nil || !strings.Contains(string(output), want) {
			t.Errorf("docket run %v: %v, %s", flags, err, output)
		}
	}
	extension := harness.RunShadowing(t, gateway.Kubeconfig(), gateway.Dir, serve...)
	if got := kubectl.Run(t, "get", "polr", "-o", "name"); got != "" {
		t.Errorf("the gateway still shows the cluster's: %s", got)
	}
	wantOutput(t, kubectl.Run(t, "get", "apiservice", "v1alpha2.wgpolicyk8s.io", "-o", "jsonpath={.status.conditions[?(@.type=='Shadowing')].message}"), "the upstream cluster")
	wantOutput(t, admin.Run(t, "get", "polr", "-o", "name"), "first")
	extension.Stop(t)
	wantOutput(t, kubectl.Run(t, "get", "polr", "-o", "name"), "first")
	waitUntil(t, "the APIService is the cluster's again", func() bool {
		return strings.Contains(kubectl.Try(t, "", "get", "apiservice", "v1alpha2.wgpolicyk8s.io").Stdout, "Local")
	})
}
