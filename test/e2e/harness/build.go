// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
)

// Docket returns the path of the docket binary, built from this work tree.
func Docket(t testing.TB) string {
	t.Helper()
	return testenv.Program(t, "docket")
}

// Load returns the path of the load command.
func Load(t testing.TB) string {
	t.Helper()
	return testenv.Program(t, "load")
}

// folders are where modules are and binaries go.
type folders struct{ root, here, bin string }

func findFolders(ctx context.Context) (folders, error) {
	root, rootErr := goList(ctx, "", "-m", "-f", "{{.Dir}}", "github.com/docket-project/docket")
	here, hereErr := goList(ctx, "", "-m", "-f", "{{.Dir}}", "github.com/docket-project/docket/test/e2e")
	return folders{root, here, filepath.Join(root, "bin")}, errors.Join(rootErr, hereErr)
}

func goList(ctx context.Context, dir string, arguments ...string) (string, error) {
	return runGo(ctx, dir, append([]string{"list"}, arguments...)...)
}

// runGo returns what the go command prints.
func runGo(ctx context.Context, dir string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(arguments, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(output)), nil
}
