// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/testenv"
)

const (
	// installTimeout bounds apt-get and npm.
	installTimeout = 10 * time.Minute
	// scriptTimeout bounds one run of a script.
	scriptTimeout = 2 * time.Minute
)

// Script is a program in another language that uses a client library.
type Script struct{ command []string }

//nolint:gochecknoglobals // One installation a process is the purpose of these variables.
var (
	installPython = sync.OnceValues(func() (Script, error) {
		// Debian's Python, since the library is Debian's.
		const python = "/usr/bin/python3"
		dirs, err := install("--python", "kubernetes", "python3-kubernetes")
		return Script{[]string{python, filepath.Join(dirs.here, "programs", "python", "reports.py")}}, err
	})
	installNode = sync.OnceValues(func() (Script, error) {
		dirs, err := install("npm", "nodejs", "npm")
		if err != nil {
			return Script{}, err
		}
		folder := filepath.Join(dirs.bin, "node")
		source := filepath.Join(dirs.here, "programs", "node")
		for _, file := range []string{"package.json", "package-lock.json", "reports.js"} {
			data, err := os.ReadFile(filepath.Join(source, file))
			if err == nil {
				err = errors.Join(os.MkdirAll(folder, 0o750), os.WriteFile(filepath.Join(folder, file), data, 0o600))
			}
			if err != nil {
				return Script{}, err
			}
		}
		return Script{[]string{"node", filepath.Join(folder, "reports.js")}}, runIn(folder, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	})
)

// install lets hack/need.sh look for a command, or a library of Python.
func install(arguments ...string) (folders, error) {
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	dirs, err := findFolders(ctx)
	if err != nil {
		return folders{}, err
	}
	return dirs, testenv.Need(ctx, arguments...)
}

func runIn(dir, command string, arguments ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, arguments...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", command, strings.Join(arguments, " "), err, output)
	}
	return nil
}

// PythonScript returns programs/python, with Debian's client library of Kubernetes.
func PythonScript(t testing.TB) Script {
	t.Helper()
	return installed(t, installPython)
}

// NodeScript returns programs/node, with the client library of Kubernetes from npm.
func NodeScript(t testing.TB) Script {
	t.Helper()
	return installed(t, installNode)
}

func installed(t testing.TB, install func() (Script, error)) Script {
	t.Helper()
	script, err := install()
	if err != nil {
		t.Fatal(err)
	}
	return script
}

func (s Script) prepare(ctx context.Context, arguments []string) *exec.Cmd {
	command := append(append([]string(nil), s.command...), arguments...)
	return exec.CommandContext(ctx, command[0], command[1:]...)
}

// Version is that of the client library.
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
	if err := f.process.start(t.Context(), func(context.Context, *output) bool { return true }); err != nil {
		t.Fatal(err)
	}
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
