// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
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

// kubernetesProgram returns the path of one of Kubernetes' programs, at the version that DOCKET_KUBERNETES names, such as
// 1.36, or else at the one that tests usually run on.
func kubernetesProgram(t testing.TB, program string) string {
	t.Helper()
	if version := os.Getenv("DOCKET_KUBERNETES"); version != "" {
		program += "-" + version
	}
	return testenv.Program(t, program)
}

// KubernetesVersion is the version of kubectl and of the control plane, such as v1.36.3.
func KubernetesVersion(t testing.TB) string {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), kubernetesProgram(t, "kube-apiserver"), "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(strings.TrimSpace(string(printed)), "Kubernetes ")
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
