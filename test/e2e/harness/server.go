// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
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

// listening is what `docket console` says once a proxy can reach it.
var listening = regexp.MustCompile(`(?m)^Listening on (\S+) for the proxy`)

// Console is a `docket console` for a team. The test is the proxy in front of it.
type Console struct {
	process process
	address string
}

// StartConsole starts one on loopback. It ends with the test.
func StartConsole(t testing.TB, kubeconfig string, flags ...string) *Console {
	t.Helper()
	c := &Console{process: process{path: Docket(t), arguments: append([]string{"console", "--kubeconfig", kubeconfig, "--host", "localhost"}, flags...)}}
	ready := func(_ context.Context, o *output) bool { return listening.MatchString(o.text()) }
	testkit.NoError(t, c.process.start(t.Context(), ready))
	c.address = listening.FindStringSubmatch(c.process.output.text())[1]
	t.Cleanup(func() {
		if err := c.process.end(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		c.process.log(t)
	})
	return c
}

// Ask sends a request with headers, as a page of the console does, and returns the code and the text of the answer.
func (c *Console) Ask(t testing.TB, method, path, body string, header http.Header) (status int, text string) {
	t.Helper()
	r := testkit.Must(http.NewRequestWithContext(t.Context(), method, "http://"+c.address+path, strings.NewReader(body)))(t)
	r.Header = header.Clone()
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://"+c.address)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // It was only read.
	answer := testkit.Must(io.ReadAll(response.Body))(t)
	return response.StatusCode, string(answer)
}

// registeredLine is what `docket run` says when the server is available.
const registeredLine = "kubectl api-resources --api-group="

// Extension is a `docket run` with an extension server.
type Extension struct{ process process }

// RunExtension starts an extension server by `docket run`, registered at the endpoint
// of a kubeconfig, and returns when it is available. dir is the state folder of that
// endpoint. It ends with the test.
func RunExtension(t testing.TB, kubeconfig, dir string, command ...string) *Extension {
	t.Helper()
	return runExtension(t, append([]string{"run", "--kubeconfig", kubeconfig, "--dir", dir, "--"}, command...))
}

// RunShadowing is RunExtension for a server that takes a group version of the cluster.
func RunShadowing(t testing.TB, kubeconfig, dir string, command ...string) *Extension {
	t.Helper()
	return runExtension(t, append([]string{"run", "--shadow", "--kubeconfig", kubeconfig, "--dir", dir, "--"}, command...))
}

func runExtension(t testing.TB, arguments []string) *Extension {
	t.Helper()
	e := &Extension{process: process{path: Docket(t), arguments: arguments}}
	ready := func(_ context.Context, o *output) bool { return strings.Contains(o.text(), registeredLine) }
	testkit.NoError(t, e.process.start(t.Context(), ready))
	t.Cleanup(func() {
		e.Stop(t)
		e.process.log(t)
	})
	return e
}

// Stop ends it as Ctrl-C does, with its server and registration.
func (e *Extension) Stop(t testing.TB) {
	t.Helper()
	if err := e.process.end(syscall.SIGINT); err != nil {
		t.Error(err)
	}
}
