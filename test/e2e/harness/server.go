// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// readyLine begins the line with which `docket up` says that it serves.
	readyLine = "Docket is ready"

	startTimeout = time.Minute
	stopTimeout  = 30 * time.Second
)

// Server is a running `docket up`.
type Server struct {
	// Dir is its state folder.
	Dir string

	arguments []string
	cmd       *exec.Cmd
	output    *output
}

// Up starts `docket up` on a free port with a new state folder, and returns when it
// serves. It ends with the test. The arguments come after the usual ones.
func Up(t testing.TB, arguments ...string) *Server {
	t.Helper()
	s := &Server{Dir: t.TempDir()}
	s.arguments = append([]string{"up", "--dir", s.Dir, "--listen", "127.0.0.1:0"}, arguments...)
	s.Start(t)
	t.Cleanup(func() {
		if s.cmd != nil {
			s.Stop(t)
		}
		if t.Failed() {
			t.Logf("docket up wrote:\n%s", s.output.text())
		}
	})
	return s
}

// Kubeconfig is the path of the file that `docket up` writes.
func (s *Server) Kubeconfig() string { return filepath.Join(s.Dir, "kubeconfig") }

// Start starts the server again in the same folder, after Stop or Kill.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if s.cmd != nil {
		t.Fatal("the server is already running")
	}
	ready := make(chan struct{})
	s.output = &output{ready: ready, ended: make(chan struct{})}
	s.cmd = exec.Command(Docket(t), s.arguments...) //nolint:noctx // Stop and Kill end it.
	pipe, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.cmd.Stderr = s.cmd.Stdout
	if err := s.cmd.Start(); err != nil {
		t.Fatalf("start docket up: %v", err)
	}
	go s.output.read(pipe)
	timeout := time.NewTimer(startTimeout)
	defer timeout.Stop()
	select {
	case <-ready:
		return
	case <-s.output.ended:
		t.Errorf("docket up ended before it was ready (%v)", s.cmd.Wait())
	case <-timeout.C:
		t.Errorf("docket up is not ready after %v", startTimeout)
		_ = s.cmd.Process.Kill()
		<-s.output.ended
		_ = s.cmd.Wait() // Killed: the status is known.
	}
	s.cmd = nil
	t.Fatalf("it wrote:\n%s", s.output.text())
}

// Stop ends the server as Ctrl-C does, and wants exit code 0.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Errorf("stop docket up: %v", err)
	}
	select {
	case <-s.output.ended:
	case <-ctx.Done():
		t.Errorf("docket up is still there %v after Ctrl-C", stopTimeout)
		_ = s.cmd.Process.Kill()
		<-s.output.ended
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("docket up ended with %v", err)
	}
	s.cmd = nil
}

// Kill ends the server with SIGKILL, as a crash would.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatalf("kill docket up: %v", err)
	}
	<-s.output.ended
	var status *exec.ExitError
	if err := s.cmd.Wait(); !errors.As(err, &status) {
		t.Errorf("docket up ended with %v, want a signal", err)
	}
	s.cmd = nil
}

// output keeps what a process writes.
type output struct {
	ready chan struct{} // closed by the line that says so
	ended chan struct{} // closed at the end of the output

	mu    sync.Mutex // guards lines
	lines []string
}

func (o *output) read(pipe io.Reader) {
	defer close(o.ended)
	said := false
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		o.mu.Lock()
		o.lines = append(o.lines, lines.Text())
		o.mu.Unlock()
		if !said && strings.HasPrefix(lines.Text(), readyLine) {
			said = true
			close(o.ready)
		}
	}
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.lines, "\n")
}
