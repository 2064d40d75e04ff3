// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"path/filepath"
	"syscall"
	"testing"
)

// readyLine begins the line with which `docket up` says that it serves.
const readyLine = "Docket is ready"

// Server is a running `docket up`.
type Server struct {
	// Dir is its state folder.
	Dir string

	process process
}

// Up starts `docket up` on a free port with a new state folder, and returns when it
// serves. It ends with the test. The arguments come after the usual ones.
func Up(t testing.TB, arguments ...string) *Server {
	t.Helper()
	s := &Server{Dir: t.TempDir()}
	s.process.path = Docket(t)
	s.process.arguments = append([]string{"up", "--dir", s.Dir, "--listen", "127.0.0.1:0"}, arguments...)
	s.Start(t)
	t.Cleanup(func() {
		s.Stop(t)
		s.process.log(t)
	})
	return s
}

// Kubeconfig is the path of the file that `docket up` writes.
func (s *Server) Kubeconfig() string { return filepath.Join(s.Dir, "kubeconfig") }

// Start starts the server again in the same folder, after Stop or Kill.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.process.output = nil // Its ready line is not this run's.
	if err := s.process.start(t.Context(), func(_ context.Context, o *output) bool { return o.has(readyLine) }); err != nil {
		t.Fatal(err)
	}
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
	if err := s.process.end(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
