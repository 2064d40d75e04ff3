// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// scriptTimeout bounds one run of a script.
const scriptTimeout = 2 * time.Minute

// Script is a program in another language that uses a client library.
type Script struct{ command []string }

// PythonScript drives Debian's client library for Python.
func PythonScript(t testing.TB) Script {
	t.Helper()
	dirs, err := findFolders(t.Context())
	if err == nil {
		err = testenv.Need(t.Context(), "python:kubernetes=python3-kubernetes")
	}
	if err != nil {
		t.Fatal(err)
	}
	return Script{[]string{"/usr/bin/python3", filepath.Join(dirs.here, "programs", "python", "reports.py")}}
}

// NodeScript drives the client library for Node.js.
func NodeScript(t testing.TB) Script {
	t.Helper()
	path := testkit.Must(testenv.Script(t.Context(), "node.sh"))(t)
	return Script{[]string{"node", path}}
}

func (s Script) prepare(ctx context.Context, arguments []string) *exec.Cmd {
	command := append(append([]string(nil), s.command...), arguments...)
	return exec.CommandContext(ctx, command[0], command[1:]...)
}

// Version returns the version of the client library.
func (s Script) Version(t testing.TB) string {
	t.Helper()
	output, err := s.prepare(t.Context(), []string{"version"}).Output()
	if err != nil {
		t.Fatalf("%s version: %v", filepath.Base(s.command[1]), err)
	}
	return strings.TrimSpace(string(output))
}

// Run runs the script to its end and returns its lines. What it says on standard error
// fails the test.
func (s Script) Run(t testing.TB, c *Cluster, arguments ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), scriptTimeout)
	defer cancel()
	cmd := s.prepare(ctx, arguments)
	cmd.Env = append(os.Environ(), environment(t, c)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%s: %v\n%s\n%s", filepath.Base(s.command[1]), err, stdout.String(), stderr.String())
	}
	return strings.Split(strings.TrimSpace(stdout.String()), "\n")
}

// environment is what a script needs in its environment. Node.js takes authorities from the kubeconfig,
// too. Python's library leaves what it discovered in the temporary folder, for its next run.
func environment(t testing.TB, c *Cluster) []string {
	t.Helper()
	return []string{"KUBECONFIG=" + c.Kubeconfig(), "TMPDIR=" + t.TempDir()}
}

// Follower is a script that follows the objects of a resource.
type Follower struct {
	process process
	file    string
}

// Follow lets the script follow the objects of a resource in all namespaces until the test ends.
func (s Script) Follow(t testing.TB, c *Cluster, resource string) *Follower {
	t.Helper()
	f := &Follower{file: filepath.Join(t.TempDir(), "versions.json")}
	f.process = process{
		path: s.command[0], arguments: append(slices.Clone(s.command[1:]), "follow", f.file, resource), env: environment(t, c),
	}
	testkit.NoError(t, f.process.start(t.Context(), func(context.Context, *output) bool { return true }))
	t.Cleanup(func() {
		if err := f.process.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		f.process.log(t)
	})
	return f
}

// Alive reports whether it has not ended by itself.
func (f *Follower) Alive() bool { return f.process.alive() }

// Versions are the resource versions of the objects, by namespace/name, as it knows them.
func (f *Follower) Versions() (map[string]string, error) {
	data, err := os.ReadFile(f.file)
	if err != nil {
		return nil, err
	}
	var versions map[string]string
	return versions, json.Unmarshal(data, &versions)
}
