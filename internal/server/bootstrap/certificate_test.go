// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap_test

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/bootstrap"
)

func start() time.Time { return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC) }

// made is a Secret with what is in it, parsed.
type made struct {
	secret corev1.Secret
	pair   *certificate.Pair
	bundle certificate.Bundle
}

func makeCertificate(t *testing.T, trusted certificate.Bundle, now time.Time) made {
	t.Helper()
	text, bundle, err := bootstrap.Certificate(bootstrap.NewCertificateParameters(), trusted, now, bootstrap.YAML)
	if err != nil {
		t.Fatal(err)
	}
	m := made{bundle: bundle}
	testkit.NoError(t, yaml.UnmarshalStrict(text, &m.secret))
	if m.pair, err = certificate.Parse(m.secret.Data[corev1.TLSCertKey], m.secret.Data[corev1.TLSPrivateKeyKey]); err != nil || !m.pair.Matches() {
		t.Fatalf("certificate and key: %v", err)
	}
	return m
}

// verify checks as kube-apiserver does.
func (m made) verify(trusted certificate.Bundle, now time.Time) error {
	roots := x509.NewCertPool()
	for _, authority := range trusted {
		roots.AddCert(authority)
	}
	_, err := m.pair.Certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: "docket.docket-system.svc", CurrentTime: now})
	return err
}

func TestCertificate(t *testing.T) {
	t.Parallel()
	m := makeCertificate(t, nil, start())
	if m.secret.Name != "docket-tls" || m.secret.Namespace != "docket-system" || m.secret.Type != corev1.SecretTypeTLS {
		t.Errorf("Secret %s/%s of type %s, want what deploy/base mounts", m.secret.Namespace, m.secret.Name, m.secret.Type)
	}
	if err := m.verify(m.bundle, start()); err != nil {
		t.Errorf("the bundle does not vouch for the certificate: %v", err)
	}
	if shown, err := certificate.ParseBundle(m.secret.Data["ca.crt"]); err != nil || len(shown) != 1 || !shown[0].Equal(m.bundle[0]) {
		t.Errorf("ca.crt: %d authorities, %v, want the new one", len(shown), err)
	}
	keys := 0
	for _, data := range m.secret.Data {
		for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
			if strings.Contains(block.Type, "PRIVATE KEY") {
				keys++
			}
		}
	}
	if keys != 1 {
		t.Errorf("%d private keys in the Secret, want that of the certificate only", keys)
	}
}

// TestRotation: at every step a running server is trusted, and authorities leave at
// their end.
func TestRotation(t *testing.T) {
	t.Parallel()
	first := makeCertificate(t, nil, start())
	later := start().Add(300 * 24 * time.Hour)
	second := makeCertificate(t, first.bundle, later)
	if first.verify(second.bundle, later) != nil || second.verify(second.bundle, later) != nil {
		t.Error("while a certificate replaces another, one of both is not trusted")
	}
	if second.verify(first.bundle, later) == nil {
		t.Error("the old authority vouches for the new certificate: its key was kept")
	}
	later = later.Add(300 * 24 * time.Hour)
	third := makeCertificate(t, second.bundle, later)
	if len(third.bundle) != 2 || !third.bundle[0].Equal(second.bundle[1]) {
		t.Errorf("%d authorities after the end of the first, want the second and the third", len(third.bundle))
	}
	if all := makeCertificate(t, third.bundle, later.Add(1000*24*time.Hour)); len(all.bundle) != 1 {
		t.Errorf("%d authorities after the end of all, want the new one", len(all.bundle))
	}
}

func TestCertificateParameters(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*bootstrap.CertificateParameters)
		want   string
	}{
		"namespace": {func(p *bootstrap.CertificateParameters) { p.Namespace = "A" }, "namespace: "},
		"service":   {func(p *bootstrap.CertificateParameters) { p.Service = "*" }, "service: "},
		"lifetime":  {func(p *bootstrap.CertificateParameters) { p.Lifetime = time.Hour }, "valid-for: 1h0m0s is too short"},
	} {
		p := bootstrap.NewCertificateParameters()
		test.change(&p)
		if _, _, err := bootstrap.Certificate(p, nil, start(), bootstrap.YAML); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestReadCABundle(t *testing.T) {
	t.Parallel()
	first := makeCertificate(t, nil, start())
	second := makeCertificate(t, first.bundle, start().Add(24*time.Hour))
	path := filepath.Join(t.TempDir(), "ca.crt")
	testkit.NoError(t, os.WriteFile(path, second.secret.Data["ca.crt"], 0o600))
	for after, want := range map[time.Duration]int{0: 2, bootstrap.DefaultLifetime: 1} {
		data := testkit.Must(bootstrap.ReadCABundle(path, start().Add(after)))(t)
		if got := strings.Count(string(data), "BEGIN CERTIFICATE"); got != want {
			t.Errorf("after %s: %d authorities, want %d", after, got, want)
		}
	}
	_, err := bootstrap.ReadCABundle(path, start().Add(2*bootstrap.DefaultLifetime))
	if !errors.Is(err, certificate.ErrExpired) || !strings.Contains(err.Error(), path) {
		t.Errorf("after the end of all: %v, want ErrExpired with the file", err)
	}
	if _, err := bootstrap.ReadCABundle(path+"x", start()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
}
