// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

const flunderRole = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: flunders}
rules: [{apiGroups: [wardle.example.com], resources: [flunders], verbs: ["*"]}]
`

// TestGatewayStreams: commands, attached streams, logs and forwarded ports through the gateways for several people,
// over both protocols; and Kubernetes' sample server behind one that impersonates, which asks the cluster what the
// caller may do.
func TestGatewayStreams(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := harness.SharedCluster(t)
	mine := newOwner(t, c)
	kubelet := c.StartKubelet(t, "node-of-"+mine.apps)
	kubelet.RunPod(t, mine.apps, "web")
	for profile, arguments := range map[string][]string{
		"token":       {"--profile=token"},
		"impersonate": {"--profile=impersonate", "--impersonate-groups=developers"},
	} {
		gateway := harness.Gateway(t, c.Kubeconfig(), arguments...)
		for protocol, webSocket := range streams {
			t.Run(profile+" "+protocol, func(t *testing.T) {
				kubectl := gateway.KubectlOf(t, mine.apps, mine.kubeconfig).WithEnv("KUBECTL_REMOTE_COMMAND_WEBSOCKETS="+webSocket, "KUBECTL_PORT_FORWARD_WEBSOCKETS="+webSocket)
				wantOutput(t, kubectl.Run(t, "auth", "whoami"), mine.gina)
				testExec(t, kubectl, "web")
				testAttach(t, kubectl, "web")
				testPortForward(t, kubectl, "web")
				pod := strings.Join([]string{"logs", profile, protocol}, "-")
				kubelet.RunPod(t, mine.apps, pod)
				testLogs(t, kubectl, kubelet, mine.apps, pod)
				kubectl.Refused(t, "", []string{"forbidden", mine.gina}, "exec", "-n", "default", "web", "--", "echo", "hello")
			})
		}
		if profile == "impersonate" {
			t.Run("sample-apiserver", func(t *testing.T) { testSampleBehindGateway(t, c, gateway, mine) })
		}
	}
}

// testSampleBehindGateway: the owner of a namespace may do there what the cluster's RBAC says, and nothing elsewhere.
func testSampleBehindGateway(t *testing.T, c *harness.Cluster, gateway *harness.Server, mine owner) {
	t.Helper()
	admin := c.Kubectl(t, mine.apps)
	// Not the harness's administrator, who is one by a group that the gateway does not pass on.
	admin.Run(t, "create", "serviceaccount", "boss", "-n", mine.others)
	admin.Run(t, "create", "clusterrolebinding", "boss-of-"+mine.apps, "--clusterrole=cluster-admin", "--serviceaccount="+mine.others+":boss")
	boss := c.KubeconfigOf(t, "boss", strings.TrimSpace(admin.Run(t, "create", "token", "boss", "-n", mine.others, "--duration=1h")))
	harness.RunExtension(t, gateway.KubeconfigOf(t, boss), gateway.Dir, harness.SampleAPIServer(t), "--etcd-servers="+harness.StartEtcd(t).URL(),
		"--requestheader-client-ca-file="+filepath.Join(gateway.Dir, "front-proxy-ca.crt"), "--requestheader-allowed-names=docket-gateway")
	kubectl := gateway.KubectlOf(t, mine.apps, mine.kubeconfig)
	const flunder = "apiVersion: wardle.example.com/v1alpha1\nkind: Flunder\nmetadata: {name: first}\n"
	kubectl.Refused(t, flunder, []string{"forbidden", mine.gina}, "create", "-f", "-")
	admin.RunInput(t, flunderRole, "create", "-f", "-") // The cluster doesn't know the resource, and need not.
	admin.Run(t, "create", "rolebinding", "flunders", "--role=flunders", "--serviceaccount="+mine.others+":gina")
	waitUntil(t, "the role counts", func() bool { return kubectl.Try(t, flunder, "apply", "-f", "-").Code == 0 })
	wantOutput(t, kubectl.Run(t, "get", "flunders"), "first")
	kubectl.Refused(t, "", []string{"forbidden", mine.gina}, "get", "flunders", "-n", "default")
}
