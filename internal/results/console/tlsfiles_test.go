// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// encryptedTeam is a console on loopback with certificates in files.
type encryptedTeam struct {
	*team

	options Options
	serving *certificate.Pair // the authority
	address string
}

func newAuthority(t *testing.T, name string) *certificate.Pair {
	t.Helper()
	return testkit.Must(certificate.NewAuthority(name, time.Now(), time.Hour))(t)
}

func writeFile(t *testing.T, path string, content []byte) {
	t.Helper()
	testkit.NoError(t, os.WriteFile(path, content, 0o600))
}

// renew writes a certificate for the console.
func (e *encryptedTeam) renew(t *testing.T) *certificate.Pair {
	t.Helper()
	pair := testkit.Must(certificate.NewServing(e.serving, []string{"127.0.0.1"}, time.Now(), time.Hour))(t)
	writeFile(t, e.options.TLSCertFile, pair.CertificatePEM)
	writeFile(t, e.options.TLSPrivateKeyFile, pair.KeyPEM)
	return pair
}

func startEncrypted(t *testing.T, proxies *certificate.Pair) *encryptedTeam {
	t.Helper()
	folder := t.TempDir()
	e := &encryptedTeam{serving: newAuthority(t, "serving"), options: options(SignInHeaders)}
	e.options.TLSCertFile, e.options.TLSPrivateKeyFile = filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	e.options.ProxyClientCAFile, e.options.ProxyClientNames = filepath.Join(folder, "ca.crt"), []string{"proxy"}
	e.renew(t)
	writeFile(t, e.options.ProxyClientCAFile, proxies.CertificatePEM)
	e.team = newTeam(t, e.options)
	listener := testkit.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	e.address = listener.Addr().String()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return e
}

// client connects with a certificate of an authority; with none if that is nil.
func (e *encryptedTeam) client(t *testing.T, authority *certificate.Pair, name string) *http.Client {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(e.serving.Certificate)
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if authority != nil {
		pair := testkit.Must(certificate.NewClient(authority, name, time.Now(), time.Hour))(t)
		key := testkit.Must(tls.X509KeyPair(pair.CertificatePEM, pair.KeyPEM))(t)
		// Also where the server names other authorities.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &key, nil }
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// say asks as a person, and returns the code and the text of the answer.
func (e *encryptedTeam) say(t *testing.T, client *http.Client, path, person string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+e.address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if person != "" {
		r.Header.Set("X-Forwarded-User", person)
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	body := testkit.Must(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(body)
}

// TestOnlyTheProxyNamesPeople: callers without the proxy's certificate can't claim to be somebody, but can probe.
func TestOnlyTheProxyNamesPeople(t *testing.T) {
	t.Parallel()
	proxies, strangers := newAuthority(t, "proxies"), newAuthority(t, "proxies")
	e := startEncrypted(t, proxies)
	proxy := e.client(t, proxies, "proxy")
	if code, body := e.say(t, proxy, namespaces, "alice"); code != http.StatusOK || !strings.HasSuffix(body, "Impersonate-User=alice") {
		t.Fatalf("the proxy: %d %s", code, body)
	}
	for name, client := range map[string]*http.Client{
		"no certificate": e.client(t, nil, ""), "another authority": e.client(t, strangers, "proxy"), "another name": e.client(t, proxies, "kubelet"),
		"the serving authority": e.client(t, e.serving, "proxy"),
	} {
		for _, path := range []string{"/", namespaces} {
			if code, body := e.say(t, client, path, "alice"); code != http.StatusUnauthorized || !strings.Contains(body, "--proxy-client-ca-file") {
				t.Errorf("%s at %s: %d %s; want 401 and why", name, path, code, body)
			}
		}
		if code, _ := e.say(t, client, "/readyz", ""); code != http.StatusOK {
			t.Errorf("%s: a probe gets %d", name, code)
		}
	}
	if len(e.asked) != 1 {
		t.Errorf("the cluster was asked %d times, want once, for the proxy", len(e.asked))
	}
}

// TestCertificatesAreReadAgain: the console serves a renewed certificate, and another authority of the proxy counts
// also on connections that were open before.
func TestCertificatesAreReadAgain(t *testing.T) {
	t.Parallel()
	before, after := newAuthority(t, "before"), newAuthority(t, "after")
	e := startEncrypted(t, before)
	old := e.client(t, before, "proxy")
	if code, _ := e.say(t, old, namespaces, "alice"); code != http.StatusOK {
		t.Fatalf("the proxy: %d", code)
	}
	writeFile(t, e.options.ProxyClientCAFile, after.CertificatePEM)
	renewed := e.renew(t)
	e.keeper.Load(t.Context()) // As every ten seconds.
	if code, _ := e.say(t, old, namespaces, "alice"); code != http.StatusUnauthorized {
		t.Errorf("the proxy of before, on its connection: %d, want 401", code)
	}
	next := e.client(t, after, "proxy")
	if code, _ := e.say(t, next, namespaces, "alice"); code != http.StatusOK {
		t.Errorf("the proxy of now: %d", code)
	}
	connection, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "tcp", e.address) // Looked at, not trusted.
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close() //nolint:errcheck // It was only looked at.
	if shown := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]; !shown.Equal(renewed.Certificate) {
		t.Error("the console shows the certificate of before")
	}
	// A file that can't be read changes nothing.
	writeFile(t, e.options.ProxyClientCAFile, []byte("nothing"))
	e.keeper.Load(t.Context())
	if code, _ := e.say(t, next, namespaces, "alice"); code != http.StatusOK {
		t.Errorf("after a file that can't be read: %d", code)
	}
	if err := e.keeper.Err(); err == nil || !strings.HasPrefix(err.Error(), "--proxy-client-ca-file: ") {
		t.Errorf("the keeper says %v", err)
	}
}

// TestFilesOfNoUse: a console that can't encrypt does not start.
func TestFilesOfNoUse(t *testing.T) {
	t.Parallel()
	e := &encryptedTeam{serving: newAuthority(t, "serving"), options: options(SignInHeaders)}
	folder := t.TempDir()
	o := &e.options
	o.TLSCertFile, o.TLSPrivateKeyFile, o.ProxyClientCAFile = filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"), filepath.Join(folder, "ca.crt")
	load := func() error {
		_, err := (&tlsFiles{certFile: o.TLSCertFile, keyFile: o.TLSPrivateKeyFile, proxyCAFile: o.ProxyClientCAFile}).Load(t.Context())
		return err
	}
	wants := func(flag string) {
		t.Helper()
		if err := load(); err == nil || !strings.HasPrefix(err.Error(), flag+": ") {
			t.Errorf("%v, want an error of %s", err, flag)
		}
	}
	wants("--tls-cert-file")
	pair := e.renew(t)
	wants("--proxy-client-ca-file")
	writeFile(t, o.ProxyClientCAFile, pair.CertificatePEM) // Not that of an authority.
	wants("--proxy-client-ca-file")
	writeFile(t, o.ProxyClientCAFile, e.serving.CertificatePEM)
	if err := load(); err != nil {
		t.Error(err)
	}
	writeFile(t, o.TLSPrivateKeyFile, e.serving.KeyPEM) // Of another certificate.
	wants("--tls-cert-file")
	testkit.NoError(t, os.Remove(o.TLSPrivateKeyFile))
	wants("--tls-private-key-file")
}

// TestTokensAlone: with tokens, the console shows no certificate of its kubeconfig, which would count more than a
// token.
func TestTokensAlone(t *testing.T) {
	t.Parallel()
	shown := 0
	cluster := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { shown += len(r.TLS.PeerCertificates) }))
	cluster.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	cluster.StartTLS()
	t.Cleanup(cluster.Close)
	own := testkit.Must(certificate.NewClient(newAuthority(t, "cluster"), "console", time.Now(), time.Hour))(t)
	config := &rest.Config{Host: cluster.URL, TLSClientConfig: rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cluster.Certificate().Raw}), CertData: own.CertificatePEM, KeyData: own.KeyPEM,
	}}
	for signIn, want := range map[string]int{SignInToken: 0, SignInHeaders: 1} {
		o := options(signIn)
		o.Hosts = []string{teamHost}
		console := testkit.Must(NewTeam(t.Context(), config, Info{}, nil, o, clock.RealClock{}))(t)
		shown = 0
		answer := (&team{Team: console}).ask(http.MethodGet, namespaces, bearer("alice"), with("X-Forwarded-User", "alice"))
		if answer.Code != http.StatusOK || shown != want {
			t.Errorf("%s: %d %s, the cluster was shown %d certificates, want %d", signIn, answer.Code, answer.Body, shown, want)
		}
	}
}

// TestReadyUntilTheCertificateEnds: a console whose certificate nobody renewed is not ready, and is not restarted for
// that.
func TestReadyUntilTheCertificateEnds(t *testing.T) {
	t.Parallel()
	folder, now := t.TempDir(), clocktesting.NewFakeClock(time.Now())
	e := &encryptedTeam{serving: newAuthority(t, "serving"), options: options(SignInToken)}
	e.options.Hosts, e.options.TLSCertFile, e.options.TLSPrivateKeyFile = []string{teamHost}, filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	e.renew(t)
	console := testkit.Must(NewTeam(t.Context(), &rest.Config{Host: "https://cluster"}, Info{}, nil, e.options, now))(t)
	probed := &team{Team: console}
	for _, ready := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		if live, got := probed.ask(http.MethodGet, "/livez").Code, probed.ask(http.MethodGet, "/readyz").Code; live != http.StatusOK || got != ready {
			t.Errorf("at %v: live %d, ready %d, want %d", now.Now(), live, got, ready)
		}
		now.Step(2 * time.Hour)
	}
}
