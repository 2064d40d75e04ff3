// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// Running is a kubectl that goes on until the test ends it, such as one that follows a
// log.
type Running struct {
	// Stdin of kubectl; closing it ends its input.
	Stdin io.WriteCloser

	arguments string
	lines     chan string // of standard output; closed at its end
	cancel    context.CancelFunc
	cmd       *exec.Cmd

	mu     sync.Mutex // guards stderr
	stderr strings.Builder
}

// Start starts kubectl. It ends with the test.
func (k *Kubectl) Start(t testing.TB, arguments ...string) *Running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &Running{
		arguments: strings.Join(arguments, " "), cancel: cancel,
		cmd:   k.command(ctx, t, arguments),
		lines: make(chan string, 1000), // More than a test looks at; a full channel stops kubectl only.
	}
	r.Stdin = testkit.Must(r.cmd.StdinPipe())(t)
	stdout := testkit.Must(r.cmd.StdoutPipe())(t)
	r.cmd.Stderr = r
	if err := r.cmd.Start(); err != nil {
		t.Fatalf("start kubectl %s: %v", r.arguments, err)
	}
	go func() {
		defer close(r.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			select {
			case r.lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		for range r.lines { // Until the reader has ended, before Wait closes its pipe.
		}
		_ = r.cmd.Wait() // Killed by cancel, or ended before.
		if t.Failed() {
			t.Logf("kubectl %s wrote: %s", r.arguments, r.errors())
		}
	})
	return r
}

// Write implements io.Writer for kubectl's standard error.
func (r *Running) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stderr.Write(p)
}

func (r *Running) errors() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stderr.String()
}

// Line returns the next line of standard output, and fails the test if none comes.
func (r *Running) Line(t testing.TB) string {
	t.Helper()
	timeout := time.NewTimer(kubectlTimeout)
	defer timeout.Stop()
	select {
	case line, open := <-r.lines:
		if !open {
			t.Fatalf("kubectl %s has ended: %s", r.arguments, r.errors())
		}
		return line
	case <-timeout.C:
		t.Fatalf("kubectl %s: no line in %v: %s", r.arguments, kubectlTimeout, r.errors())
		return ""
	}
}
