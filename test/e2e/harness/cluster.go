// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/keyutil"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// Cluster is a real control plane on loopback: etcd, kube-apiserver with RBAC, and
// the controllers of kube-controller-manager that deal with namespaces, garbage,
// quota and service accounts. It has no nodes.
type Cluster struct {
	dir        string
	url        string
	etcdURL    string
	authority  *authority // of the API server and of client certificates
	frontProxy *authority // of the API server towards extension servers
	docket     *authority // of extension servers
	adminToken string
	admin      *rest.Config

	etcd, apiserver, controllers process

	egress *egress // nil unless pods run
}

// adminUser may do everything; the front proxy's name is the one that extension
// servers trust to tell who a user is.
const (
	adminUser      = "admin"
	frontProxyName = "front-proxy-client"
)

// baseControllers are those that every cluster of tests has.
const baseControllers = "namespace-controller,garbage-collector-controller,resourcequota-controller,serviceaccount-controller,clusterrole-aggregation-controller"

// ClusterOption changes how a control plane is started.
type ClusterOption func(*Cluster)

// Durable lets etcd wait for the disk, as it does in production. Tests don't need
// that, measurements do.
func Durable(c *Cluster) {
	c.etcd.arguments = without(c.etcd.arguments, "--unsafe-no-fsync")
}

// APIServerArguments gives kube-apiserver further flags.
func APIServerArguments(arguments ...string) ClusterOption {
	return func(c *Cluster) { c.apiserver.arguments = append(c.apiserver.arguments, arguments...) }
}

// StartCluster starts a control plane for one test. It ends with the test.
func StartCluster(t testing.TB, options ...ClusterOption) *Cluster {
	t.Helper()
	c, err := startCluster(t.Context(), t, t.TempDir(), options)
	t.Cleanup(func() {
		if c == nil {
			return
		}
		if err := c.close(); err != nil {
			t.Error(err)
		}
		c.log(t)
	})
	if err != nil {
		t.Fatalf("start a control plane: %v", err)
	}
	return c
}

func startCluster(ctx context.Context, t testing.TB, dir string, options []ClusterOption) (*Cluster, error) {
	c := &Cluster{dir: dir, adminToken: randomToken()}
	if err := c.prepare(t); err != nil {
		return nil, err
	}
	for _, option := range options {
		option(c)
	}
	if err := c.etcd.start(ctx, c.etcdReady); err != nil {
		return c, err
	}
	if err := c.apiserver.start(ctx, c.apiserverReady); err != nil {
		return c, err
	}
	return c, c.controllers.start(ctx, func(_ context.Context, o *output) bool { return len(o.copied()) > 0 })
}

// prepare makes certificates, files and command lines.
func (c *Cluster) prepare(t testing.TB) error {
	var err error
	for name, authority := range map[string]**authority{
		"cluster": &c.authority, "front-proxy": &c.frontProxy, "docket": &c.docket,
	} {
		if *authority, err = newAuthority(c.dir, name); err != nil {
			return err
		}
	}
	ports, err := testenv.FreePorts(3)
	if err != nil {
		return err
	}
	c.prepareEtcd(t, ports[0], ports[1])
	c.url = "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[2]))
	if err := c.prepareAPIServer(t, ports[2]); err != nil {
		return err
	}
	if err := c.writeKubeconfig(c.Kubeconfig(), adminUser, c.adminToken); err != nil {
		return err
	}
	if c.admin, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig()); err != nil {
		return err
	}
	c.admin.QPS, c.admin.Burst = 500, 1000
	c.controllers = process{path: kubernetesProgram(t, "kube-controller-manager"), arguments: []string{
		"--kubeconfig=" + c.Kubeconfig(),
		"--controllers=" + baseControllers,
		"--leader-elect=false",
		"--secure-port=0", // Nobody asks it.
		"--resource-quota-sync-period=10s",
		"--kube-api-qps=200", "--kube-api-burst=400",
	}}
	return nil
}

func (c *Cluster) prepareEtcd(t testing.TB, clientPort, peerPort int) {
	t.Helper()
	c.etcdURL = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(clientPort))
	peer := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(peerPort))
	c.etcd = process{path: testenv.Program(t, "etcd"), arguments: []string{
		"--data-dir=" + filepath.Join(c.dir, "etcd"),
		"--listen-client-urls=" + c.etcdURL, "--advertise-client-urls=" + c.etcdURL,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--quota-backend-bytes=8589934592",
		"--unsafe-no-fsync",
	}}
}

func (c *Cluster) prepareAPIServer(t testing.TB, port int) error {
	t.Helper()
	serving, err := c.authority.issue(c.dir, "kube-apiserver", nil,
		[]string{"127.0.0.1", "localhost", "kubernetes.default.svc", "10.0.0.1"})
	if err != nil {
		return err
	}
	proxy, err := c.frontProxy.issue(c.dir, frontProxyName, nil, nil)
	if err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	accounts, tokens := filepath.Join(c.dir, "service-accounts.key"), filepath.Join(c.dir, "tokens.csv")
	users := fmt.Sprintf("%s,%s,1,\"system:masters\"\n", c.adminToken, adminUser)
	if err := errors.Join(os.WriteFile(accounts, keyPEM, 0o600), os.WriteFile(tokens, []byte(users), 0o600)); err != nil {
		return err
	}
	c.apiserver = process{path: kubernetesProgram(t, "kube-apiserver"), arguments: []string{
		"--etcd-servers=" + c.etcdURL,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port),
		"--endpoint-reconciler-type=none", // Endpoints on loopback are refused.
		"--cert-dir=" + c.dir, "--tls-cert-file=" + serving.certificate, "--tls-private-key-file=" + serving.key,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + accounts, "--service-account-signing-key-file=" + accounts,
		"--authorization-mode=RBAC",
		"--token-auth-file=" + tokens,
		"--client-ca-file=" + c.authority.file,
		"--requestheader-client-ca-file=" + c.frontProxy.file,
		"--requestheader-allowed-names=" + frontProxyName,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-uid-headers=X-Remote-Uid",
		"--proxy-client-cert-file=" + proxy.certificate, "--proxy-client-key-file=" + proxy.key,
	}}
	return nil
}

// writeKubeconfig writes a file with which user reaches the cluster by its token.
func (c *Cluster) writeKubeconfig(path, user, token string) error {
	const name = "test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: c.url, CertificateAuthority: c.authority.file}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, path)
}

func (c *Cluster) etcdReady(_ context.Context, o *output) bool {
	return strings.Contains(o.text(), "ready to serve client requests")
}

func (c *Cluster) apiserverReady(ctx context.Context, _ *output) bool {
	client, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return false
	}
	_, err = client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err == nil
}

func (c *Cluster) close() error {
	// The controllers first, so that they don't complain about the rest.
	return errors.Join(c.controllers.end(syscall.SIGKILL), c.apiserver.end(syscall.SIGKILL), c.etcd.end(syscall.SIGKILL))
}

func (c *Cluster) log(t testing.TB) {
	t.Helper()
	if os.Getenv("DOCKET_E2E_VERBOSE") != "" {
		c.apiserver.log(t)
		c.controllers.log(t)
	}
}

// Kubeconfig is the path of the administrator's file.
func (c *Cluster) Kubeconfig() string { return filepath.Join(c.dir, "kubeconfig") }

// URL of the API server.
func (c *Cluster) URL() string { return c.url }

// EtcdURL is where etcd listens.
func (c *Cluster) EtcdURL() string { return c.etcdURL }

// AuthorityFile is the path of the certificate that signed the API server's.
func (c *Cluster) AuthorityFile() string { return c.authority.file }

// RestartAPIServer ends kube-apiserver without a word and starts it again.
func (c *Cluster) RestartAPIServer(t testing.TB) {
	t.Helper()
	c.KillAPIServer(t)
	c.StartAPIServer(t)
}

// KillAPIServer ends kube-apiserver without a word: connections are reset, and new ones refused.
func (c *Cluster) KillAPIServer(t testing.TB) {
	t.Helper()
	testkit.NoError(t, c.apiserver.end(syscall.SIGKILL))
}

// StartAPIServer starts kube-apiserver after KillAPIServer and returns when it is ready.
func (c *Cluster) StartAPIServer(t testing.TB) {
	t.Helper()
	testkit.NoError(t, c.apiserver.start(t.Context(), c.apiserverReady))
}

// SuspendAPIServer stops kube-apiserver where it is: connections stay, also new ones, and nobody answers.
func (c *Cluster) SuspendAPIServer(t testing.TB) {
	t.Helper()
	c.signalAPIServer(t, syscall.SIGSTOP)
}

// ResumeAPIServer lets kube-apiserver go on after SuspendAPIServer, and returns when it is ready.
func (c *Cluster) ResumeAPIServer(t testing.TB) {
	t.Helper()
	c.signalAPIServer(t, syscall.SIGCONT)
	testkit.NoError(t, c.apiserver.wait(t.Context(), c.apiserverReady))
}

func (c *Cluster) signalAPIServer(t testing.TB, signal syscall.Signal) {
	t.Helper()
	testkit.NoError(t, c.apiserver.cmd.Process.Signal(signal))
}

// APIServerPID is the process number of kube-apiserver, for its memory.
func (c *Cluster) APIServerPID() int { return c.apiserver.pid() }

// ControllersLog is what kube-controller-manager has written so far.
func (c *Cluster) ControllersLog() string { return c.controllers.output.text() }

// EtcdPID is the process number of etcd.
func (c *Cluster) EtcdPID() int { return c.etcd.pid() }

// RESTConfig returns the administrator's, with generous limits on requests.
func (c *Cluster) RESTConfig(t testing.TB) *rest.Config {
	t.Helper()
	return rest.CopyConfig(c.admin)
}

// Client returns an administrator's client.
func (c *Cluster) Client(t testing.TB) kubernetes.Interface {
	t.Helper()
	return testkit.Must(kubernetes.NewForConfig(c.admin))(t)
}

// Kubectl returns an administrator's kubectl that works in the given namespace unless
// told otherwise.
func (c *Cluster) Kubectl(t testing.TB, namespace string) *Kubectl {
	t.Helper()
	return newKubectl(t, c.Kubeconfig(), namespace)
}

// KubeconfigOf writes a kubeconfig for the bearer of a token and returns its path.
func (c *Cluster) KubeconfigOf(t testing.TB, user, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	testkit.NoError(t, c.writeKubeconfig(path, user, token))
	return path
}

func randomToken() string { return rand.Text() }

func without(list []string, unwanted string) []string {
	var kept []string
	for _, item := range list {
		if item != unwanted {
			kept = append(kept, item)
		}
	}
	return kept
}

// EtcdMetrics returns etcd's metrics as text.
func (c *Cluster) EtcdMetrics(t testing.TB) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.etcdURL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
