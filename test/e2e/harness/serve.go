// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const (
	// Namespace is where Docket's own objects are.
	Namespace = "docket-system"
	// ServiceName is the Service that the APIServices point to.
	ServiceName = "docket"
)

// Replica is a `docket serve` of a cluster.
type Replica struct {
	// Port on loopback.
	Port int

	cluster *Cluster
	files   certificateFiles
	process process
	client  *http.Client
}

// Serve starts `docket serve` for the cluster, with a certificate for the Service,
// and returns when it is ready. It ends with the test. Without --database among the
// arguments it gets an SQLite file of its own.
func (c *Cluster) Serve(t testing.TB, arguments ...string) *Replica {
	t.Helper()
	r := c.NewReplica(t, arguments...)
	r.Start(t)
	return r
}

// NewReplica is Serve without the start.
func (c *Cluster) NewReplica(t testing.TB, arguments ...string) *Replica {
	t.Helper()
	r := c.newServer(t)
	r.process = process{path: Docket(t), arguments: append([]string{
		"serve", "--kubeconfig", c.Kubeconfig(),
		"--bind-address", "127.0.0.1", "--secure-port", strconv.Itoa(r.Port),
		"--tls-cert-file", r.files.certificate, "--tls-private-key-file", r.files.key,
	}, arguments...)}
	if !slices.ContainsFunc(arguments, func(a string) bool { return strings.HasPrefix(a, "--database") }) {
		r.process.arguments = append(r.process.arguments, "--database", "sqlite://"+filepath.Join(filepath.Dir(r.files.key), "docket.db"))
	}
	return r
}

// ServeCanned starts the server of test/load in Docket's place: nothing that serves reports
// can be faster.
func (c *Cluster) ServeCanned(t testing.TB) *Replica {
	t.Helper()
	r := c.newServer(t)
	r.process = process{path: Load(t), arguments: []string{
		"serve", "--listen", r.Addr(), "--tls-cert-file", r.files.certificate, "--tls-private-key-file", r.files.key,
	}}
	r.Start(t)
	return r
}

// newServer prepares a replica whose process is yet to be given. It ends with the test.
func (c *Cluster) newServer(t testing.TB) *Replica {
	t.Helper()
	files := testkit.Must(c.docket.issue(t.TempDir(), "serving", nil, servingHosts()))(t)
	r := &Replica{Port: testenv.FreePort(t), cluster: c, files: files}
	pool := x509.NewCertPool()
	pool.AddCert(c.docket.certificate)
	r.client = r.newClient(pool)
	t.Cleanup(func() {
		if err := r.process.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		r.process.log(t)
	})
	return r
}

func (*Replica) newClient(trusted *x509.CertPool) *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true, // Each answer is of the process that runs now.
	}, Timeout: 5 * time.Second}
}

// Start starts the replica, again if need be, and returns when it is ready.
func (r *Replica) Start(t testing.TB) {
	t.Helper()
	testkit.NoError(t, r.process.start(t.Context(), func(ctx context.Context, _ *output) bool { return r.Ready(ctx) }))
}

// Stop ends the replica in order, as a kubelet does, and waits for the end.
func (r *Replica) Stop(t testing.TB) {
	t.Helper()
	if err := r.process.end(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

// Kill ends the replica with SIGKILL.
func (r *Replica) Kill(t testing.TB) {
	t.Helper()
	testkit.NoError(t, r.process.end(syscall.SIGKILL))
}

// PID is the process number, for its memory.
func (r *Replica) PID() int { return r.process.pid() }

// URL is the address that the certificate is valid for.
func (r *Replica) URL() string { return "https://" + r.Addr() }

// Addr is host:port.
func (r *Replica) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(r.Port)) }

// Log is what the replica wrote last.
func (r *Replica) Log() string { return r.process.output.text() }

// Ready reports whether the replica says that it is ready.
func (r *Replica) Ready(ctx context.Context) bool {
	status, _, err := r.get(ctx, "/readyz", "")
	return err == nil && status == http.StatusOK
}

// Metrics returns the replica's metrics as text.
func (r *Replica) Metrics(t testing.TB) string {
	t.Helper()
	status, body, err := r.get(t.Context(), "/metrics", r.cluster.adminToken)
	if err != nil || status != http.StatusOK {
		t.Fatalf("metrics: status %d, %v", status, err)
	}
	return body
}

// RESTConfig reaches the replica directly, past the cluster, as an administrator.
func (r *Replica) RESTConfig() *rest.Config {
	return &rest.Config{
		Host: r.URL(), BearerToken: r.cluster.adminToken, QPS: 500, Burst: 1000,
		TLSClientConfig: rest.TLSClientConfig{CAData: r.cluster.docket.pem},
	}
}

func (r *Replica) get(ctx context.Context, path, token string) (int, string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL()+path, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return 0, "", fmt.Errorf("read %s: %w", path, err)
	}
	return response.StatusCode, string(body), nil
}

// Rotation replaces the authority that signs the replicas' certificates.
type Rotation struct {
	cluster *Cluster
	next    *authority
}

// NewRotation makes another authority.
func (c *Cluster) NewRotation(t testing.TB) *Rotation {
	t.Helper()
	next := testkit.Must(newAuthority(t.TempDir(), "docket"))(t)
	return &Rotation{c, next}
}

// Both is the PEM of the old authority and the new one.
func (r *Rotation) Both() []byte { return slices.Concat(r.cluster.docket.pem, r.next.pem) }

// New is the PEM of the new authority.
func (r *Rotation) New() []byte { return r.next.pem }

// Renew gives a running replica a certificate of the new authority, and returns when
// it serves with that.
func (r *Rotation) Renew(t testing.TB, replica *Replica) {
	t.Helper()
	testkit.Must(r.next.issue(filepath.Dir(replica.files.certificate), "serving", nil, servingHosts()))(t)
	pool := x509.NewCertPool()
	pool.AddCert(r.next.certificate)
	replica.client = replica.newClient(pool)
	// The files are looked at once a minute at least.
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		return replica.Ready(ctx), nil
	})
	if err != nil {
		t.Fatalf("the replica does not take its new certificate (%v):\n%s", err, replica.Log())
	}
}

// servingHosts are the names in the certificates of replicas.
func servingHosts() []string {
	return []string{ServiceName + "." + Namespace + ".svc", "localhost", "127.0.0.1"}
}

// DocketAuthority is the PEM of what signs the replicas' certificates.
func (c *Cluster) DocketAuthority() []byte { return c.docket.pem }

// Client returns an administrator's client of the replica itself.
func (r *Replica) Client(t testing.TB) rest.Interface {
	t.Helper()
	client := testkit.Must(kubernetes.NewForConfig(r.RESTConfig()))(t)
	return client.RESTClient()
}

// HTTPClient returns a client of the replica with a client certificate, none if nil.
func (r *Replica) HTTPClient(t testing.TB, certificate *tls.Certificate) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(r.cluster.docket.certificate)
	client := r.newClient(pool)
	if certificate != nil {
		transport, ok := client.Transport.(*http.Transport)
		if !ok {
			t.Fatalf("transport %T", client.Transport)
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{*certificate}
	}
	return client
}

// ClientCertificate returns a certificate of a user of the cluster.
func (c *Cluster) ClientCertificate(t testing.TB, user string, groups ...string) *tls.Certificate {
	t.Helper()
	files := testkit.Must(c.authority.issue(t.TempDir(), user, groups, nil))(t)
	pair := testkit.Must(tls.LoadX509KeyPair(files.certificate, files.key))(t)
	return &pair
}
