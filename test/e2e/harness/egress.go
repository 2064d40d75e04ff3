// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// dialer returns the address on loopback behind an address of the cluster.
type dialer func(ctx context.Context, host string, port int32) (string, error)

// egress is the proxy through which kube-apiserver reaches Services and nodes: a cluster of one machine has
// no network of its own.
type egress struct {
	server *httptest.Server

	mu   sync.Mutex // guards dial
	dial dialer
}

// Pods is for clusters whose Deployments and StatefulSets are to run, by [Cluster.StartMachine].
func Pods(t testing.TB) ClusterOption {
	t.Helper()
	e := &egress{}
	socket := filepath.Join(testenv.SocketDir(t), "egress")
	listener := testkit.Must(new(net.ListenConfig).Listen(t.Context(), "unix", socket))(t)
	e.server = httptest.NewUnstartedServer(http.HandlerFunc(e.connect))
	_ = e.server.Listener.Close() // On another address.
	e.server.Listener = listener
	e.server.Start()
	t.Cleanup(func() {
		e.server.CloseClientConnections()
		e.server.Close()
	})
	file := filepath.Join(t.TempDir(), "egress.yaml")
	testkit.NoError(t, os.WriteFile(file, []byte(fmt.Sprintf(`apiVersion: apiserver.k8s.io/v1beta1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport: {uds: {udsName: %q}}
`, socket)), 0o600))
	return func(c *Cluster) {
		c.egress = e
		c.apiserver.arguments = append(c.apiserver.arguments, "--egress-selector-config-file="+file, "--allow-privileged")
		c.controllers.arguments = append(c.controllers.arguments,
			"--root-ca-file="+c.authority.file,
			"--controllers="+baseControllers+",deployment-controller,replicaset-controller,statefulset-controller,endpointslice-controller,"+
				"root-ca-certificate-publisher-controller,persistentvolumeclaim-protection-controller")
	}
}

// serve lets connections be made by dial, and none if that is nil.
func (e *egress) serve(dial dialer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.dial = dial
}

// connect answers CONNECT.
func (e *egress) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
		return
	}
	target, err := e.open(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = target.Close()
		return
	}
	go func() {
		_, _ = io.Copy(target, buffered) // The end of either connection is that of both.
		_ = target.Close()
	}()
	go func() {
		_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n") // As above.
		_, _ = io.Copy(client, target)
		_ = client.Close()
	}()
}

func (e *egress) open(ctx context.Context, address string) (net.Conn, error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	dial := e.dial
	e.mu.Unlock()
	if dial != nil {
		if address, err = dial(ctx, host, int32(port)); err != nil {
			return nil, err
		}
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}
