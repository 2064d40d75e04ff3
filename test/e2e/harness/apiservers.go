// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// AddAPIServer starts one more kube-apiserver on the cluster's etcd, as highly available control planes have, and
// returns the cluster as it is seen there. It ends with the test.
func (c *Cluster) AddAPIServer(t testing.TB) *Cluster {
	t.Helper()
	port := strconv.Itoa(testenv.FreePort(t))
	other := &Cluster{
		dir: t.TempDir(), url: "https://" + net.JoinHostPort("127.0.0.1", port), etcdURL: c.etcdURL,
		authority: c.authority, frontProxy: c.frontProxy, docket: c.docket, adminToken: c.adminToken,
	}
	other.apiserver = process{
		path:      c.apiserver.path,
		arguments: append(slices.Clone(c.apiserver.arguments), "--secure-port="+port), // The last one counts.
	}
	testkit.NoError(t, other.writeKubeconfig(other.Kubeconfig(), adminUser, c.adminToken))
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", other.Kubeconfig()))(t)
	other.admin = rest.CopyConfig(c.admin)
	other.admin.Host = config.Host
	t.Cleanup(func() {
		if err := other.apiserver.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		other.log(t)
	})
	testkit.NoError(t, other.apiserver.start(t.Context(), other.apiserverReady))
	return other
}
