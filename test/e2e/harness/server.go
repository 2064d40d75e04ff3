// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// Lines with which the commands say that they serve.
const (
	upReady      = "Docket is ready"
	gatewayReady = "The gateway is ready"
)

// Server is a running `docket up` or `docket gateway`.
type Server struct {
	// Dir is its state folder.
	Dir string

	process process
	ready   string
}

// Up starts `docket up` on a free port with a new state folder, and returns when it
// serves. It ends with the test. The arguments come after the usual ones.
func Up(t testing.TB, arguments ...string) *Server {
	t.Helper()
	return startServer(t, "up", upReady, arguments)
}

// Gateway starts `docket gateway` in front of the cluster of a kubeconfig, otherwise as
// Up does.
func Gateway(t testing.TB, kubeconfig string, arguments ...string) *Server {
	t.Helper()
	return startServer(t, "gateway", gatewayReady, append([]string{"--kubeconfig", kubeconfig}, arguments...))
}

func startServer(t testing.TB, command, ready string, arguments []string) *Server {
	t.Helper()
	s := &Server{Dir: t.TempDir(), ready: ready}
	s.process.path = Docket(t)
	s.process.arguments = append([]string{command, "--dir", s.Dir, "--listen", "127.0.0.1:0"}, arguments...)
	s.Start(t)
	t.Cleanup(func() {
		s.Stop(t)
		s.process.log(t)
	})
	return s
}

// Kubeconfig is the path of the file that it writes.
func (s *Server) Kubeconfig() string { return filepath.Join(s.Dir, "kubeconfig") }

// PID is the number of its process, for its memory.
func (s *Server) PID() int { return s.process.pid() }

// URL is where it listens, as it says itself.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	for _, line := range s.process.output.copied() {
		if strings.HasPrefix(line, s.ready) {
			for _, word := range strings.Fields(line) {
				if strings.HasPrefix(word, "https://") {
					return strings.TrimSuffix(word, ",")
				}
			}
		}
	}
	t.Fatalf("it does not say where it listens:\n%s", s.process.output.text())
	return ""
}

// Start starts the server again in the same folder, after Stop or Kill.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.process.output = nil // Its ready line is not this run's.
	testkit.NoError(t, s.process.start(t.Context(), func(_ context.Context, o *output) bool { return o.has(s.ready) }))
}

// Stop ends the server as Ctrl-C does, and wants exit code 0.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.process.end(syscall.SIGINT); err != nil {
		t.Error(err)
	}
}

// Kill ends the server with SIGKILL, as a crash would.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	testkit.NoError(t, s.process.end(syscall.SIGKILL))
}

// Log returns what it has written so far.
func (s *Server) Log() string { return s.process.output.text() }
