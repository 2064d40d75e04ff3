// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv/tlsclients"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestOtherClients: OpenSSL, GnuTLS and Java check certificates in other ways than Go does. Here it is the one that
// the server made itself.
func TestOtherClients(t *testing.T) {
	t.Parallel()
	s := newTestServer(t, Config{
		Client: cluster(t), Namespace: "default", Secret: "other-clients", Service: "hook", Drain: -1,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }),
	})
	background(t, s.Run)
	eventually(t, s.Ready)
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	testkit.NoError(t, os.WriteFile(caFile, s.CABundle(), 0o600))
	url := "https://" + strings.Replace(s.Address(), "127.0.0.1", "hook.default.svc", 1) + "/"
	tlsclients.Check(t, tlsclients.Server{URL: url, CAFile: caFile}, "hello")
}
