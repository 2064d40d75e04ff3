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

// buildTimeout is for a cold cache on a small machine, which runs tests meanwhile.
const buildTimeout = 40 * time.Minute

// binaries are the paths of what is under test, and of what it is tested with.
type binaries struct {
	docket, load, kubectl, etcd, kine, apiserver, controllerManager string
}

//nolint:gochecknoglobals // One build a process is the purpose of this variable.
var build = sync.OnceValues(buildBinaries)

// Docket returns the path of the docket binary, built from this work tree.
func Docket(t testing.TB) string {
	t.Helper()
	return built(t).docket
}

// Load returns the path of the load command.
func Load(t testing.TB) string {
	t.Helper()
	return built(t).load
}

func built(t testing.TB) binaries {
	t.Helper()
	b, err := build()
	if err != nil {
		t.Fatalf("build the binaries: %v", err)
	}
	return b
}

// buildBinaries builds everything from the modules in go.mod. Kubernetes alone takes
// minutes the first time; the go command's cache keeps it.
func buildBinaries() (binaries, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	dirs, err := findFolders(ctx)
	if err != nil {
		return binaries{}, err
	}
	root, here, bin := dirs.root, dirs.here, dirs.bin
	version, err := kubernetesVersion(ctx, here)
	if err != nil {
		return binaries{}, err
	}
	b := binaries{
		docket:            filepath.Join(bin, "docket"),
		load:              filepath.Join(bin, "load"),
		kubectl:           filepath.Join(bin, "kubectl"),
		etcd:              filepath.Join(bin, "etcd"),
		kine:              filepath.Join(bin, "kine"),
		apiserver:         filepath.Join(bin, "kube-apiserver"),
		controllerManager: filepath.Join(bin, "kube-controller-manager"),
	}
	// With the versions of its own go.mod, which are those that users get.
	if err := errors.Join(
		goBuild(ctx, root, b.docket, "./cmd/docket"),
		goBuild(ctx, root, b.load, "./test/load"),
	); err != nil {
		return binaries{}, err
	}
	for _, target := range []struct{ path, pkg string }{
		{b.kubectl, "./cmd/kubectl"},
		{b.etcd, "go.etcd.io/etcd/server/v3"},
		{b.kine, "github.com/k3s-io/kine"},
		{b.apiserver, "k8s.io/kubernetes/cmd/kube-apiserver"},
		{b.controllerManager, "k8s.io/kubernetes/cmd/kube-controller-manager"},
	} {
		if err := goBuild(ctx, here, target.path, target.pkg, "-ldflags", version); err != nil {
			return binaries{}, err
		}
	}
	return b, nil
}

// folders are where modules are and binaries go.
type folders struct{ root, here, bin string }

func findFolders(ctx context.Context) (folders, error) {
	root, rootErr := goList(ctx, "", "-m", "-f", "{{.Dir}}", "github.com/docket-project/docket")
	here, hereErr := goList(ctx, "", "-m", "-f", "{{.Dir}}", "github.com/docket-project/docket/test/e2e")
	return folders{root, here, filepath.Join(root, "bin")}, errors.Join(rootErr, hereErr)
}

// kubernetesVersion returns linker flags that tell Kubernetes' programs their version,
// which they compare with each other's: v0.36.3 of the libraries is v1.36.3.
func kubernetesVersion(ctx context.Context, here string) (string, error) {
	library, err := goList(ctx, here, "-m", "-f", "{{.Version}}", "k8s.io/kubectl")
	if err != nil {
		return "", err
	}
	version := strings.Replace(library, "v0.", "v1.", 1)
	_, minor, _ := strings.Cut(version, ".")
	minor, _, _ = strings.Cut(minor, ".")
	const pkg = "-X k8s.io/component-base/version."
	return pkg + "gitVersion=" + version + " " + pkg + "gitMajor=1 " + pkg + "gitMinor=" + minor, nil
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
