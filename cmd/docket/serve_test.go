// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestServeLog: the log of a server begins with its version and settings, says when it is ready, ends with the reason,
// and has next to nothing beside that.
func TestServeLog(t *testing.T) {
	t.Parallel()
	upConfig(t)
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	dir := t.TempDir()
	log := testkit.Must(os.Create(filepath.Join(dir, "log")))(t)
	text := func() string { return string(testkit.Must(os.ReadFile(log.Name()))(t)) }
	command := docket(ctx, t, "serve", "--database", "sqlite://"+dir+"/docket.db", "--kubeconfig", filepath.Join(shared.Dir(), "kubeconfig"),
		"--bind-address=127.0.0.1", "--secure-port="+strings.TrimPrefix(address, "127.0.0.1:"), "--shutdown-delay-duration=0", "--api-groups=openreports.io")
	command.Stdout, command.Stderr = log, log
	testkit.NoError(t, command.Start())
	ready := fmt.Sprintf(`"Ready" address=%q`, address)
	testkit.Eventually(t, "the server is ready", func() bool { return strings.Contains(text(), ready) })
	testkit.NoError(t, command.Process.Signal(syscall.SIGTERM))
	if err := errors.Join(command.Wait(), log.Close()); err != nil {
		t.Errorf("docket serve ended with %v", err)
	}
	lines := strings.Split(strings.TrimSpace(text()), "\n")
	for _, want := range []string{`"Starting" version="docket v`, `database="sqlite://` + dir, `apiGroups=["openreports.io"]`, fmt.Sprintf("address=%q", address)} {
		if !strings.Contains(lines[0], want) {
			t.Errorf("the first line lacks %s: %s", want, lines[0])
		}
	}
	const most = 6 // The three, that the database was opened, and what this cluster lacks.
	if last := lines[len(lines)-1]; !strings.Contains(last, `"Stopped" why="the process was told to end" ran="`) || len(lines) > most {
		t.Errorf("the log is\n%s", strings.Join(lines, "\n"))
	}
}

// TestServeWithOtherKey: a certificate that does not match its key is not blamed on the address.
func TestServeWithOtherKey(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		testkit.NoError(t, os.WriteFile(path, data, 0o600))
		return path
	}
	certificate, _ := testkit.Must2(cert.GenerateSelfSignedCertKey("a", nil, nil))(t)
	_, key := testkit.Must2(cert.GenerateSelfSignedCertKey("b", nil, nil))(t)
	command := docket(ctx, t, "serve", "--database", "sqlite://"+filepath.Join(dir, "docket.db"), "--kubeconfig", write("kubeconfig", nil),
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", testenv.FreePort(t)),
		"--tls-cert-file", write("tls.crt", certificate), "--tls-private-key-file", write("tls.key", key))
	output, err := command.CombinedOutput()
	if err == nil || !bytes.Contains(output, []byte("--tls-cert-file, --tls-private-key-file")) || bytes.Contains(output, []byte("--bind-address")) {
		t.Errorf("docket serve ended with %v, and says\n%s", err, output)
	}
	if !bytes.Contains(output, []byte(`"Stopped" why="something failed"`)) {
		t.Errorf("it does not say that it has stopped:\n%s", output)
	}
}
