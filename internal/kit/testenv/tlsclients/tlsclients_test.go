// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package tlsclients

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const (
	name     = "docket.example.svc"
	lifetime = 24 * time.Hour
)

// TestPrograms: each program accepts a good certificate, and refuses those that it can tell to be bad.
func TestPrograms(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ca, other := authority(t, now), authority(t, now)
	for title, test := range map[string]struct {
		trusted  *certificate.Pair
		serving  *x509.Certificate // as far as the case is about it
		accepted []string
	}{
		"good":            {trusted: ca, serving: &x509.Certificate{DNSNames: []string{name}}, accepted: All()},
		"other authority": {trusted: other, serving: &x509.Certificate{DNSNames: []string{name}}},
		"other name":      {trusted: ca, serving: &x509.Certificate{DNSNames: []string{"other.example.svc"}}},
		"expired":         {trusted: ca, serving: &x509.Certificate{DNSNames: []string{name}, NotAfter: now.Add(-time.Minute)}},
		"for clients":     {trusted: ca, serving: &x509.Certificate{DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}},
		// As Docket's certificates were once: only OpenSSL takes them for signed by themselves, and Go does not.
		"subject of its authority": {
			trusted: ca, serving: &x509.Certificate{DNSNames: []string{name}, Subject: ca.Certificate.Subject},
			accepted: []string{GnuTLS, Java},
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			server := serve(t, sign(t, ca, test.serving, now), test.trusted)
			for _, program := range All() {
				output, err := Get(t, program, server)
				accepted := err == nil && strings.Contains(output, "hello")
				if accepted != slices.Contains(test.accepted, program) {
					t.Errorf("%s: accepted is %t: %v\n%s", program, accepted, err, output)
				}
			}
		})
	}
}

func authority(t *testing.T, now time.Time) *certificate.Pair {
	t.Helper()
	return testkit.Must(certificate.NewAuthority("docket", now, lifetime))(t)
}

// sign completes a serving certificate.
func sign(t *testing.T, ca *certificate.Pair, template *x509.Certificate, now time.Time) tls.Certificate {
	t.Helper()
	key := testkit.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template.SerialNumber, template.NotBefore = big.NewInt(2), now.Add(-time.Hour)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	if template.ExtKeyUsage == nil {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	if template.NotAfter.IsZero() {
		template.NotAfter = now.Add(lifetime)
	}
	if template.Subject.CommonName == "" {
		template.Subject = pkix.Name{CommonName: "server"}
	}
	der := testkit.Must(x509.CreateCertificate(rand.Reader, template, ca.Certificate, key.Public(), ca.Key))(t)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// serve says hello until the test ends.
func serve(t *testing.T, serving tls.Certificate, trusted *certificate.Pair) Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{serving}, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	testkit.NoError(t, os.WriteFile(caFile, trusted.CertificatePEM, 0o600))
	_, port := testkit.Must2(net.SplitHostPort(server.Listener.Addr().String()))(t)
	return Server{URL: "https://" + net.JoinHostPort(name, port) + "/", CAFile: caFile}
}
