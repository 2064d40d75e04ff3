// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/tls"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/certificate/rotation"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// caller returns a certificate of an authority for a name.
func caller(t *testing.T, authority *certificate.Pair, name string) tls.Certificate {
	t.Helper()
	pair := testkit.Must(certificate.NewClient(authority, name, time.Now(), day))(t)
	return testkit.Must(tls.X509KeyPair(pair.CertificatePEM, pair.KeyPEM))(t)
}

func newAuthority(t *testing.T) *certificate.Pair {
	t.Helper()
	return testkit.Must(certificate.NewAuthority("callers", time.Now(), day))(t)
}

// TestCallersNeedCertificate: of the authority in the file, with a name that is allowed, and as the file is
// by now.
func TestCallersNeedCertificate(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), clocktesting.NewFakeClock(time.Now())
	roots := issue(t, dir, false)
	mine, others := newAuthority(t), newAuthority(t)
	put(t, dir, "callers.crt", mine.CertificatePEM)
	s := newTestServer(t, Config{
		CertDir: dir, Drain: -1, Clock: now, ClientCAFile: filepath.Join(dir, "callers.crt"), ClientNames: []string{"kube-apiserver", "second"},
	})
	background(t, s.Run)
	eventually(t, s.Ready)
	ask := func(certificates ...tls.Certificate) error {
		major, err := call(t.Context(), s.Address(), &tls.Config{RootCAs: roots, Certificates: certificates})
		if err == nil && major != 2 {
			t.Errorf("HTTP/%d", major)
		}
		return err
	}
	for name, good := range map[string]bool{"kube-apiserver": true, "second": true, "third": false, "": false} {
		if err := ask(caller(t, mine, name)); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
	if ask() == nil || ask(caller(t, others, "kube-apiserver")) == nil {
		t.Error("a caller without a certificate, or with that of another authority, may call")
	}
	put(t, dir, "callers.crt", others.CertificatePEM)
	eventually(t, func() error {
		now.Step(rotation.FilesInterval)
		return ask(caller(t, others, "kube-apiserver"))
	})
	if ask(caller(t, mine, "kube-apiserver")) == nil {
		t.Error("an authority that is no longer in the file is trusted")
	}
	put(t, dir, "callers.crt", []byte("half"))
	for range 3 {
		now.Step(rotation.FilesInterval)
		if err := ask(caller(t, others, "kube-apiserver")); err != nil {
			t.Errorf("with a file that makes no sense any more: %v", err)
		}
	}
}

func TestCallersFileIsExplained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "garbage", []byte("x"))
	for want, config := range map[string]Config{
		"--webhook-client-ca-file: open": {ClientCAFile: filepath.Join(dir, "missing")},
		"garbage: holds no certificate":  {ClientCAFile: filepath.Join(dir, "garbage")},
	} {
		config.Handler, config.CertDir, config.Address = echo(), dir, "127.0.0.1:0"
		if _, err := NewServer(t.Context(), config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := (&callers{}).verify(tls.ConnectionState{}); err == nil || errors.Unwrap(err) != nil {
		t.Errorf("without a certificate: %v", err)
	}
}
