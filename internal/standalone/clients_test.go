// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/testenv"
	"github.com/docket-project/docket/internal/testenv/tlsclients"
)

// TestOtherClients: OpenSSL, GnuTLS and Java check certificates in other ways than Go does. The commands with curl are
// those of docs/up.md, where the folder is ~/.docket and the address the usual one.
func TestOtherClients(t *testing.T) {
	t.Parallel()
	if err := testenv.Need(t.Context(), "curl", "curl"); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/up.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	address := start(t, testOptions(t, dir)).config.Host
	local := strings.NewReplacer("~/.docket", dir, "https://"+DefaultListen, address)
	commands := 0
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "curl ") && !strings.HasPrefix(line, "sed ") {
			continue
		}
		commands++
		output, err := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", local.Replace(line)).CombinedOutput()
		if err != nil || !strings.Contains(string(output), "ok") && !strings.Contains(string(output), "PolicyReportList") {
			t.Errorf("%s: %v\n%s", line, err, output)
		}
	}
	if commands != 2 {
		t.Errorf("docs/up.md has %d commands with curl, want 2", commands)
	}
	tlsclients.Check(t, tlsclients.Server{URL: address + "/readyz", CAFile: filepath.Join(dir, "ca.crt")}, "ok")
}
