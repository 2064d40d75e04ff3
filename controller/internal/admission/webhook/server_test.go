// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/certificate/rotation"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const day = 24 * time.Hour

// issue writes a new pair, and its authority if that is wanted, into a directory.
func issue(t *testing.T, dir string, withAuthority bool) *x509.CertPool {
	t.Helper()
	ca := testkit.Must(certificate.NewAuthority("test", time.Now(), day))(t)
	pair := testkit.Must(certificate.NewServing(ca, []string{"127.0.0.1"}, time.Now(), day))(t)
	put(t, dir, corev1.TLSPrivateKeyKey, pair.KeyPEM)
	put(t, dir, corev1.TLSCertKey, pair.CertificatePEM)
	if withAuthority {
		put(t, dir, rotation.AuthorityKey, ca.CertificatePEM)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.Certificate)
	return roots
}

func put(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	testkit.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
}

// call asks the server over a connection of its own, and returns the version of HTTP.
func call(ctx context.Context, address string, config *tls.Config) (int, error) {
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+"/", strings.NewReader("hello"))
	if err != nil {
		return 0, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	body, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err == nil && string(body) != "hello" {
		err = fmt.Errorf("answer %q", body)
	}
	return response.ProtoMajor, err
}

// echo answers with what was sent.
func echo() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
}

func newTestServer(t *testing.T, config Config) *Server {
	t.Helper()
	config.Address = "127.0.0.1:0"
	if config.Handler == nil {
		config.Handler = echo()
	}
	return testkit.Must(NewServer(t.Context(), config))(t)
}

func TestServerFollowsFiles(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), clocktesting.NewFakeClock(time.Now())
	s := newTestServer(t, Config{CertDir: dir, Clock: now, Drain: -1})
	changes := make(chan struct{}, 10)
	defer s.Subscribe(func() { changes <- struct{}{} })()
	background(t, s.Run)

	eventually(t, func() error {
		if err := s.Ready(); err == nil || !strings.Contains(err.Error(), "--webhook-cert-dir") {
			return fmt.Errorf("without files: %w", err)
		}
		return nil
	})
	if _, err := call(t.Context(), s.Address(), &tls.Config{InsecureSkipVerify: true}); err == nil {
		t.Error("requests are answered without a certificate")
	}
	roots := issue(t, dir, true)
	step := func(check func() error) {
		t.Helper()
		eventually(t, func() error { now.Step(rotation.FilesInterval); return check() })
	}
	step(s.Ready)
	<-changes
	major, err := call(t.Context(), s.Address(), &tls.Config{RootCAs: roots})
	if err != nil || major != 2 {
		t.Errorf("HTTP/%d, %v; want HTTP/2", major, err)
	}
	if _, err := call(t.Context(), s.Address(), &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}

	renewed := issue(t, dir, true)
	step(func() error {
		_, err := call(t.Context(), s.Address(), &tls.Config{RootCAs: renewed})
		return err
	})
	<-changes
	if bundle, err := os.ReadFile(filepath.Join(dir, rotation.AuthorityKey)); err != nil || string(bundle) != string(s.CABundle()) {
		t.Errorf("the bundle is not that of the file: %v", err)
	}

	// Half of a change, such as a reader may see it.
	put(t, dir, corev1.TLSPrivateKeyKey, []byte("half"))
	step(func() error {
		if s.keeper.Err() == nil {
			return errors.New("not noticed")
		}
		return nil
	})
	if _, err := call(t.Context(), s.Address(), &tls.Config{RootCAs: renewed}); err != nil || s.Ready() != nil {
		t.Errorf("the pair of before does not serve on: %v, %v", err, s.Ready())
	}
	now.Step(2 * day)
	if err := s.Ready(); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("after its end: %v", err)
	}
}

// TestServerDrains: when told to end, it takes requests until the drain ends, and then
// answers those that it has begun.
func TestServerDrains(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), clocktesting.NewFakeClock(time.Now())
	roots := issue(t, dir, false)
	begun, goOn := make(chan struct{}), make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("slow") != "" {
			close(begun)
			<-goOn
		}
		echo().ServeHTTP(w, r)
	})
	s := newTestServer(t, Config{CertDir: dir, Clock: now, Handler: handler})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	eventually(t, s.Ready)

	cancel()
	eventually(t, func() error {
		if s.Ready() == nil {
			return errors.New("still ready")
		}
		return nil
	})
	for range 3 {
		testkit.Must(call(t.Context(), s.Address(), &tls.Config{RootCAs: roots}))(t)
	}
	slow := make(chan error, 1)
	go func() {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.Address(), strings.NewReader("hello"))
		if err != nil {
			slow <- err
			return
		}
		request.Header.Set("slow", "yes")
		response, err := client.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		slow <- err
	}()
	<-begun
	eventually(t, func() error {
		now.Step(DefaultDrain)
		if _, err := call(t.Context(), s.Address(), &tls.Config{RootCAs: roots}); err == nil {
			return errors.New("answers after the drain")
		}
		return nil
	})
	select {
	case err := <-ended:
		t.Fatalf("ended during a request: %v", err)
	default:
	}
	close(goOn)
	if err := <-slow; err != nil {
		t.Errorf("a request that had begun: %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestAddressIsExplained(t *testing.T) {
	t.Parallel()
	_, err := NewServer(t.Context(), Config{Handler: echo(), CertDir: "x", Address: "127.0.0.1:x"})
	if err == nil || !strings.Contains(err.Error(), "--webhook-bind-address") {
		t.Error(err)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	service := Config{Namespace: "docket-system", Service: "hook", Hosts: []string{"127.0.0.1"}}
	if got := strings.Join(service.hosts(), " "); got != "hook.docket-system.svc hook.docket-system.svc.cluster.local 127.0.0.1" {
		t.Error(got)
	}
	alone := Config{Namespace: "docket-system", Hosts: []string{"127.0.0.1"}}
	if got := strings.Join(alone.hosts(), " "); got != "127.0.0.1" {
		t.Error(got)
	}
}
