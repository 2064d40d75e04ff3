// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv/tlsclients"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestOtherClients: OpenSSL, GnuTLS and Java check certificates in other ways than Go does.
func TestOtherClients(t *testing.T) {
	t.Parallel()
	g := start(t, newCluster(t).config("alice-token"))
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	testkit.NoError(t, os.WriteFile(caFile, g.ca.CertificatePEM, 0o600))
	tlsclients.Check(t, tlsclients.Server{URL: g.url + "/readyz", CAFile: caFile}, "ok")
}
