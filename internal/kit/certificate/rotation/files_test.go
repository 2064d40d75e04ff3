// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// issue writes a new pair, and its authority if that is wanted, into a directory.
func issue(t *testing.T, dir string, withAuthority bool) {
	t.Helper()
	ca := testkit.Must(certificate.NewAuthority("test", time.Now(), day))(t)
	pair := testkit.Must(certificate.NewServing(ca, []string{"127.0.0.1"}, time.Now(), day))(t)
	put(t, dir, corev1.TLSPrivateKeyKey, pair.KeyPEM)
	put(t, dir, corev1.TLSCertKey, pair.CertificatePEM)
	if withAuthority {
		put(t, dir, AuthorityKey, ca.CertificatePEM)
	}
}

func put(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	testkit.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
}

func TestFilesTroubleIsExplained(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(dir string)
		want   string
	}{
		"no authority":   {func(dir string) { _ = os.Remove(filepath.Join(dir, AuthorityKey)) }, ""},
		"no certificate": {func(dir string) { _ = os.Remove(filepath.Join(dir, corev1.TLSCertKey)) }, "tls.crt: no such file"},
		"key of another": {func(dir string) {
			key, _ := os.ReadFile(filepath.Join(dir, corev1.TLSPrivateKeyKey))
			issue(t, dir, false)
			put(t, dir, corev1.TLSPrivateKeyKey, key)
		}, "does not match"},
		"key in the authorities": {func(dir string) {
			put(t, dir, AuthorityKey, []byte("-----BEGIN EC PRIVATE KEY-----\n-----END EC PRIVATE KEY-----\n"))
		}, "private key"},
		"authorities are garbage": {func(dir string) { put(t, dir, AuthorityKey, []byte("x")) }, "ca.crt: holds no certificate"},
		"too large":               {func(dir string) { put(t, dir, corev1.TLSCertKey, make([]byte, maxFile+1)) }, "larger"},
	} {
		dir := t.TempDir()
		issue(t, dir, true)
		test.change(dir)
		got, err := Files{Dir: dir, Flag: "--cert-dir"}.Load(t.Context())
		if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
		if err == nil && got.Bundle != nil {
			t.Errorf("%s: there is a bundle", name)
		}
	}
}
