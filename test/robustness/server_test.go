// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package robustness_test

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// Programs of this tree, the second of which plays the next release.
const (
	currentVersion = "docket"
	nextVersion    = "docket-next"
)

// server is a `docket up` in a process of its own, at one address for all its
// lives.
type server struct {
	t        *testing.T
	dir      string
	address  string
	database string
	// binary is the name of the program, "" for that of this tree.
	binary string

	mu      sync.Mutex
	process *exec.Cmd
	client  dynamic.Interface
}

func newServer(t *testing.T, database string) *server {
	t.Helper()
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t)) // Nobody else gets it between two lives.
	s := &server{t: t, dir: t.TempDir(), address: address, database: database}
	s.start()
	t.Cleanup(s.kill)
	config := testkit.Must(clientcmd.BuildConfigFromFlags("", filepath.Join(s.dir, "kubeconfig")))(t)
	config.QPS, config.Burst = -1, -1
	config.Timeout = 0
	s.client = testkit.Must(dynamic.NewForConfig(config))(t)
	return s
}

// start starts the server and waits until it says that it is ready.
func (s *server) start() {
	s.t.Helper()
	process := s.command(s.t.Context(), cmp.Or(s.binary, currentVersion))
	var log strings.Builder
	process.Stderr = &log
	stdout, err := process.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.process = process
	s.mu.Unlock()
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "Docket is ready") {
			return
		}
	}
	_ = process.Wait()
	s.t.Errorf("the server ended before it was ready: %s", log.String())
}

// command returns what starts a binary.
func (s *server) command(ctx context.Context, binary string) *exec.Cmd {
	s.t.Helper()
	args := []string{"up", "--dir", s.dir, "--listen", s.address}
	if s.database != "" {
		args = append(args, "--database", s.database)
	}
	command := exec.CommandContext(ctx, testenv.Program(s.t, binary), args...)
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return command
}

// refuses checks that a binary does not start on the database, and what it says.
func (s *server) refuses(binary, want string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if out, err := s.command(ctx, binary).CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
		s.t.Errorf("%s ended with %v and said\n%s\nwant %q", binary, err, out, want)
	}
}

// kill ends the server at once, as a power cut would.
func (s *server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
	s.process = nil
}

// sleep waits a random time up to most, or until ctx ends.
func sleep(ctx context.Context, r *rand.Rand, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(r.Int64N(int64(most)))):
	}
}
