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
	"sync"
	"testing"
	"time"
)

// buildTimeout is for a cold cache on a small machine.
const buildTimeout = 20 * time.Minute

// binaries are the paths of what is under test.
type binaries struct{ docket, kubectl string }

//nolint:gochecknoglobals // One build a process is the purpose of this variable.
var build = sync.OnceValues(buildBinaries)

// Docket returns the path of the docket binary, built from this work tree.
func Docket(t testing.TB) string {
	t.Helper()
	return built(t).docket
}

func built(t testing.TB) binaries {
	t.Helper()
	b, err := build()
	if err != nil {
		t.Fatalf("build the binaries: %v", err)
	}
	return b
}

func buildBinaries() (binaries, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	root, rootErr := goList(ctx, "", "-m", "-f", "{{.Dir}}", "github.com/docket-project/docket")
	here, hereErr := goList(ctx, "", "-m", "-f", "{{.Dir}}", "github.com/docket-project/docket/test/e2e")
	version, versionErr := kubectlVersion(ctx, here)
	if err := errors.Join(rootErr, hereErr, versionErr); err != nil {
		return binaries{}, err
	}
	b := binaries{
		docket:  filepath.Join(root, "bin", "docket"),
		kubectl: filepath.Join(root, "bin", "kubectl"),
	}
	return b, errors.Join(
		// With the versions of its own go.mod, which are those that users get.
		goBuild(ctx, root, b.docket, "./cmd/docket"),
		goBuild(ctx, here, b.kubectl, "./cmd/kubectl", "-ldflags", "-X k8s.io/component-base/version.gitVersion="+version),
	)
}

// kubectlVersion returns the version that kubectl's library is of: v0.36.3 is v1.36.3.
// kubectl compares it with the server's.
func kubectlVersion(ctx context.Context, here string) (string, error) {
	version, err := goList(ctx, here, "-m", "-f", "{{.Version}}", "k8s.io/kubectl")
	return strings.Replace(version, "v0.", "v1.", 1), err
}

func goList(ctx context.Context, dir string, arguments ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list"}, arguments...)...)
	cmd.Dir = dir
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go list %s: %w", strings.Join(arguments, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}

func goBuild(ctx context.Context, dir, target, pkg string, flags ...string) error {
	arguments := append(append([]string{"build", "-o", target}, flags...), pkg)
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, output)
	}
	return nil
}
