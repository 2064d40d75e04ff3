// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package up

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
	dir := t.TempDir()
	testkit.NoError(t, os.Chmod(dir, 0o700))
	address := start(t, testOptions(t, dir)).config.Host
	tlsclients.Check(t, tlsclients.Server{URL: address + "/readyz", CAFile: filepath.Join(dir, "ca.crt")}, "ok")
}
