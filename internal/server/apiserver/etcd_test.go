// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/store/etcdstore/etcdtest"
)

// etcdServer is an etcd in this process, which can be away for a while.
type etcdServer struct {
	config  *embed.Config
	running *embed.Etcd
}

// newEtcd starts an etcd with nothing in it, until the test ends.
func newEtcd(t testing.TB, change ...func(*embed.Config)) *etcdServer {
	t.Helper()
	config := etcdtest.NewConfig(t)
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	for _, f := range change {
		f(config)
	}
	e := &etcdServer{config: config}
	e.start(t)
	t.Cleanup(e.stop)
	return e
}

// start starts it with the data that it had.
func (e *etcdServer) start(t testing.TB) {
	t.Helper()
	running := testkit.Must(embed.StartEtcd(e.config))(t)
	e.running = running
	testkit.Receive(t, "etcd is ready", running.Server.ReadyNotify())
}

func (e *etcdServer) stop() {
	if e.running != nil {
		e.running.Close()
		e.running = nil
	}
}

func (e *etcdServer) address() string { return e.config.ListenClientUrls[0].Host }

// url returns the address of the etcd, without TLS.
func (e *etcdServer) url() string { return "etcd://" + e.address() + "/docket" }

// value is what is stored under a key.
func (e *etcdServer) value(t testing.TB, key string) []byte {
	t.Helper()
	answer, err := e.client(t).Get(t.Context(), key)
	if err != nil || len(answer.Kvs) != 1 {
		t.Fatalf("read %s: %v, %v", key, answer, err)
	}
	return answer.Kvs[0].Value
}

// keys are all that begin with prefix.
func (e *etcdServer) keys(t testing.TB, prefix string) []string {
	t.Helper()
	answer := testkit.Must(e.client(t).Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly()))(t)
	var keys []string
	for _, pair := range answer.Kvs {
		keys = append(keys, string(pair.Key))
	}
	return keys
}

func (e *etcdServer) client(t testing.TB) *clientv3.Client {
	t.Helper()
	config := clientv3.Config{Endpoints: []string{e.config.ListenClientUrls[0].String()}, Logger: zap.NewNop()}
	if !e.config.ClientTLSInfo.Empty() {
		config.TLS = testkit.Must(e.config.ClientTLSInfo.ClientConfig())(t)
	}
	client := testkit.Must(clientv3.New(config))(t)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestEtcdKeys: clusters share an etcd, and each sees its own reports only.
func TestEtcdKeys(t *testing.T) {
	t.Parallel()
	etcd := newEtcd(t)
	for _, cluster := range []string{"east", "west"} {
		s := startServer(t, etcd.url(), func(o *apiserver.Options) { o.Storage.Cluster = cluster })
		mustCreate(t, s.reports("ns"), report("of-"+cluster, 1))
		all := mustList(t, s.client.Resource(policyReports), metav1.ListOptions{})
		testkit.NoDiff(t, cmp.Diff([]string{"of-" + cluster}, names(all)), "reports of cluster %s (-want +got)", cluster)
	}
	want := []string{
		"/docket/east/wgpolicyk8s.io/policyreports/ns/of-east",
		"/docket/west/wgpolicyk8s.io/policyreports/ns/of-west",
	}
	testkit.NoDiff(t, cmp.Diff(want, etcd.keys(t, "/docket/")), "keys (-want +got)")
	stored := etcd.value(t, want[0])
	var object unstructured.Unstructured
	if err := json.Unmarshal(stored, &object.Object); err != nil {
		t.Fatalf("what is stored is no JSON: %v\n%s", err, stored)
	}
	if got := object.GroupVersionKind(); got != policyReports.GroupVersion().WithKind("PolicyReport") {
		t.Errorf("stored as %s", got)
	}
}

// TestEtcdNamespaces: each namespace with reports once, also those whose names begin alike,
// and none of another cluster.
func TestEtcdNamespaces(t *testing.T) {
	t.Parallel()
	etcd := newEtcd(t)
	other := startServer(t, etcd.url(), func(o *apiserver.Options) { o.Storage.Cluster = "other" })
	mustCreate(t, other.reports("elsewhere"), report("x", 1))
	s := startServer(t, etcd.url())
	want := []string{"a", "a-b", "a0", "z"}
	for _, namespace := range want {
		mustCreate(t, s.reports(namespace), report("x", 1))
		mustCreate(t, s.reports(namespace), report("z.9", 1))
	}
	got := testkit.Must(s.Namespaces(t.Context()))(t)
	testkit.NoDiff(t, cmp.Diff(want, got), "namespaces (-want +got)")
}

// TestEtcdKeepsReports: a server without its process's memory.
func TestEtcdKeepsReports(t *testing.T) {
	t.Parallel()
	etcd := newEtcd(t)
	first := startServer(t, etcd.url())
	mustCreate(t, first.reports("ns"), report("a", 3))
	before := mustGet(t, first.reports("ns"), "a")
	first.stop()
	etcd.stop()
	etcd.start(t)
	testkit.NoDiff(t, cmp.Diff(before, mustGet(t, startServer(t, etcd.url()).reports("ns"), "a")), "a restart changed the report (-before +after)")
}

// TestEtcdCompacted: what is older than etcd's history gets 410, as on other engines.
func TestEtcdCompacted(t *testing.T) {
	t.Parallel()
	etcd := newEtcd(t)
	first := startServer(t, etcd.url())
	for _, name := range []string{"a", "b", "c", "d"} {
		mustCreate(t, first.reports("ns"), report(name, 1))
	}
	page := mustList(t, first.reports("ns"), metav1.ListOptions{Limit: 2})
	mustDelete(t, first.reports("ns"), "d")
	last := mustCreate(t, first.reports("ns"), report("e", 1))
	first.stop() // Its watch cache would serve the past for a while.
	testkit.Must(etcd.client(t).Compact(t.Context(), int64(version(t, last))))(t)

	client := startServer(t, etcd.url()).reports("ns")
	_, err := client.List(t.Context(), metav1.ListOptions{Limit: 2, Continue: page.GetContinue()})
	status := apierrors.APIStatus(nil)
	if !apierrors.IsResourceExpired(err) || !asStatus(err, &status) || status.Status().ListMeta.Continue == "" {
		t.Fatalf("continue below history: %v, want 410 with a token to go on with", err)
	}
	rest := mustList(t, client, metav1.ListOptions{Continue: status.Status().ListMeta.Continue})
	testkit.NoDiff(t, cmp.Diff([]string{"c", "e"}, names(rest)), "the inconsistent rest (-want +got)")
	event := nextAny(t, mustWatch(t, client, metav1.ListOptions{ResourceVersion: page.GetResourceVersion()}))
	if event.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(event.Object)) {
		t.Errorf("watch below history: %s %v, want an ERROR event with 410", event.Type, event.Object)
	}
}

// TestEtcdTooLarge: etcd's limit is below that of the server.
func TestEtcdTooLarge(t *testing.T) {
	t.Parallel()
	s := startServer(t, newEtcd(t).url())
	for _, results := range []int{12000, 20000} { // Too large for the server of etcd, and for its client.
		_, err := s.reports("ns").Create(t.Context(), report("large", results), metav1.CreateOptions{})
		if !apierrors.IsRequestEntityTooLargeError(err) || !strings.Contains(err.Error(), "--max-request-bytes") {
			t.Errorf("a report of %d results: %v, want 413 that names the limit", results, err)
		}
	}
	mustCreate(t, s.reports("ns"), report("small", 1))
}

// TestEtcdNoSpace: writes say what is wrong; reads and deletes go on.
func TestEtcdNoSpace(t *testing.T) {
	t.Parallel()
	s := startServer(t, newEtcd(t, func(c *embed.Config) { c.QuotaBackendBytes = 2 << 20 }).url())
	client := s.reports("ns")
	mustCreate(t, client, report("first", 1))
	var err error
	for i := 0; err == nil && i < 100; i++ {
		_, err = client.Create(t.Context(), report(fmt.Sprintf("r%d", i), 1000), metav1.CreateOptions{})
	}
	status := apierrors.APIStatus(nil)
	if !asStatus(err, &status) || status.Status().Code != http.StatusInsufficientStorage || !strings.Contains(err.Error(), "NOSPACE") {
		t.Fatalf("a write to a full etcd: %v, want 507 that says so", err)
	}
	mustGet(t, client, "first")
	mustDelete(t, client, "first")
}

// TestEtcdTLS: certificates of both sides, and what is said when ours is missing.
func TestEtcdTLS(t *testing.T) {
	t.Parallel()
	etcd, plain, complete := newTLSEtcd(t)
	s := startServer(t, complete)
	mustCreate(t, s.reports("ns"), report("a", 1))
	for name, test := range map[string]struct{ url, want string }{
		"no certificate of ours": {plain, "certificate required"},
		"no authority":           {"etcds://" + etcd.address(), "unknown authority"},
		"no TLS":                 {"etcd://" + etcd.address(), "use etcds://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantNoEtcd(t, test.url, test.want)
		})
	}
}

// wantNoEtcd starts a server that can't reach its etcd, and wants to be told why. That is known when it was refused
// in time, which a second is short for on a busy machine.
func wantNoEtcd(t *testing.T, url, want string) {
	t.Helper()
	var err error
	for timeout := time.Second; timeout < testkit.Patience; timeout *= 2 {
		_, err = newServer(t.Context(), url, func(o *apiserver.Options) { o.Storage.ConnectTimeout = timeout })
		if err != nil && strings.Contains(err.Error(), want) && strings.Contains(err.Error(), "--database") {
			return
		}
	}
	t.Errorf("got %v, want %q", err, want)
}

// newTLSEtcd starts an etcd that wants certificates, and returns a URL without and one
// with ours.
func newTLSEtcd(t testing.TB) (etcd *etcdServer, plain, complete string) {
	t.Helper()
	dir := t.TempDir()
	certificate, key := filepath.Join(dir, "both.crt"), filepath.Join(dir, "both.key")
	writeCertificate(t, certificate, key)
	etcd = newEtcd(t, func(c *embed.Config) {
		c.ClientTLSInfo = transport.TLSInfo{CertFile: certificate, KeyFile: key, TrustedCAFile: certificate, ClientCertAuth: true}
		c.ListenClientUrls[0].Scheme = "https" // Which is what it advertises, too.
	})
	plain = "etcds://" + etcd.address() + "/docket?cacert=" + url.QueryEscape(certificate)
	return etcd, plain, plain + "&cert=" + url.QueryEscape(certificate) + "&key=" + url.QueryEscape(key)
}

// TestEtcdRole: the rights that docs/operate/etcd.md names are enough.
func TestEtcdRole(t *testing.T) {
	t.Parallel()
	etcd, _, complete := newTLSEtcd(t)
	client := etcd.client(t)
	const allowed = clientv3.PermissionType(clientv3.PermReadWrite)
	_, roleErr := client.RoleAdd(t.Context(), "docket")
	_, prefixErr := client.RoleGrantPermission(t.Context(), "docket", "/docket/", clientv3.GetPrefixRangeEnd("/docket/"), allowed)
	_, compactErr := client.RoleGrantPermission(t.Context(), "docket", "compact_rev_key", "", allowed)
	err := errors.Join(roleErr, prefixErr, compactErr)
	for name, role := range map[string]string{"root": "root", "etcd": "docket"} { // etcd is who the certificate names.
		_, userErr := client.UserAddWithOptions(t.Context(), name, "", &clientv3.UserAddOptions{NoPassword: true})
		_, grantErr := client.UserGrantRole(t.Context(), name, role)
		err = errors.Join(err, userErr, grantErr)
	}
	_, enableErr := client.AuthEnable(t.Context())
	testkit.NoError(t, errors.Join(err, enableErr))
	s := startServer(t, complete)
	stream := mustWatch(t, s.reports("ns"), metav1.ListOptions{})
	mustCreate(t, s.reports("ns"), report("a", 1))
	wantEvents(t, stream, "ADDED a")
	if got := names(mustList(t, s.reports("ns"), metav1.ListOptions{})); !cmp.Equal([]string{"a"}, got) {
		t.Errorf("list: %v", got)
	}
	_, err = newServer(t.Context(), strings.Replace(complete, "/docket?", "/other?", 1))
	if err == nil || !strings.Contains(err.Error(), "role for the prefix") {
		t.Errorf("another prefix: %v, want an error that says what is missing", err)
	}
}

// writeCertificate writes a certificate that signed itself, for servers and clients.
func writeCertificate(t testing.TB, certificateFile, keyFile string) {
	t.Helper()
	private := testkit.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "etcd"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der := testkit.Must(x509.CreateCertificate(rand.Reader, template, template, private.Public(), private))(t)
	keyPEM := testkit.Must(keyutil.MarshalPrivateKeyToPEM(private))(t)
	certificatePEM := pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
	testkit.NoError(t, errors.Join(os.WriteFile(certificateFile, certificatePEM, 0o600), os.WriteFile(keyFile, keyPEM, 0o600)))
}

// TestEtcdAuthentication: an etcd that wants to know who we are doesn't change its
// mind, so nobody waits.
func TestEtcdAuthentication(t *testing.T) {
	t.Parallel()
	etcd := newEtcd(t)
	client := etcd.client(t)
	_, userErr := client.UserAdd(t.Context(), "root", "secret")
	_, grantErr := client.UserGrantRole(t.Context(), "root", "root")
	_, enableErr := client.AuthEnable(t.Context())
	testkit.NoError(t, errors.Join(userErr, grantErr, enableErr))
	_, err := newServer(t.Context(), etcd.url())
	if err == nil || !strings.Contains(err.Error(), "authentication turned on") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
}

// TestEtcdAbsentAtStart: a server waits for etcd, as long as it may.
func TestEtcdAbsentAtStart(t *testing.T) {
	t.Parallel()
	etcd := newEtcd(t)
	etcd.stop()
	wantNoEtcd(t, etcd.url(), "connection refused")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newServer(canceled, etcd.url()); !errors.Is(err, context.Canceled) {
		t.Errorf("told to end while waiting: %v", err)
	}
	type opened struct {
		server *apiserver.Server
		err    error
	}
	waiting := make(chan opened, 1)
	go func() {
		server, err := newServer(t.Context(), etcd.url())
		waiting <- opened{server, err}
	}()
	etcd.start(t)
	got := <-waiting
	if got.err != nil {
		t.Fatalf("wait for etcd: %v", got.err)
	}
	runServer(t, got.server)
}
