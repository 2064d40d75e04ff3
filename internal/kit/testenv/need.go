// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// toolTimeout is for a build with a cold cache on a small machine, beside tests.
const toolTimeout = 40 * time.Minute

// Need makes sure that commands, or libraries of Debian's Python, exist, as hack/need.sh
// does with the same arguments, such as "chromium=chromium": it installs Debian packages where root and apt-get are at
// hand and DOCKET_TOOLS does not say that make tools has done so. It returns an error that says what is missing
// elsewhere. Tests may call it side by side.
func Need(ctx context.Context, needs ...string) error {
	_, err := Script(ctx, "need.sh", needs...)
	return err
}

// One build a process and program is the purpose of this variable.
var programs struct {
	mu    sync.Mutex
	built map[string]func() (string, error)
}

// Program returns the path of a program that hack/build.sh knows by this name, which it builds where make tools has
// not, once for each process. The test fails if that is not possible.
func Program(t testing.TB, name string) string {
	t.Helper()
	programs.mu.Lock()
	build, asked := programs.built[name]
	if !asked {
		if programs.built == nil {
			programs.built = map[string]func() (string, error){}
		}
		build = sync.OnceValues(func() (string, error) { return Script(context.Background(), "build.sh", name) })
		programs.built[name] = build
	}
	programs.mu.Unlock()
	path, err := build()
	if err == nil {
		_, err = os.Stat(path) // So that the cache of go test knows of it.
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Script runs a script of the folder hack of this repository, and returns what it prints. Its messages are in the
// error.
func Script(ctx context.Context, name string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		script := filepath.Join(folder, "hack", name)
		if _, err := os.Stat(script); err == nil {
			return output(exec.CommandContext(ctx, script, arguments...))
		}
		if folder == filepath.Dir(folder) {
			return "", errors.New("hack/" + name + " is in no folder above this one")
		}
		folder = filepath.Dir(folder)
	}
}

func output(cmd *exec.Cmd) (string, error) {
	var stderr strings.Builder
	cmd.Stderr = &stderr
	printed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(printed)), nil
}
