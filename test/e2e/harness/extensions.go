// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// extensionsModFile has the versions of servers that are built as their authors build
// them, apart from those of the control plane.
const extensionsModFile = "go.extensions.mod"

//nolint:gochecknoglobals // One build a process is the purpose of these variables.
var (
	buildSampleAPIServer = sync.OnceValues(func() (string, error) {
		return buildExtension("sample-apiserver", "k8s.io/sample-apiserver")
	})
	buildMetricsServer = sync.OnceValues(func() (string, error) {
		return buildExtension("metrics-server", "sigs.k8s.io/metrics-server/cmd/metrics-server", "-modfile="+extensionsModFile)
	})
)

// SampleAPIServer returns the path of Kubernetes' sample server, which is built when the
// first test asks: an unmodified server on RecommendedOptions. It needs an etcd, and
// serves wardle.example.com.
func SampleAPIServer(t testing.TB) string {
	t.Helper()
	return extensionServer(t, buildSampleAPIServer)
}

// MetricsServer returns the path of metrics-server, which is built when the first test
// asks: an unmodified server without a storage that serves metrics.k8s.io.
func MetricsServer(t testing.TB) string {
	t.Helper()
	return extensionServer(t, buildMetricsServer)
}

func extensionServer(t testing.TB, build func() (string, error)) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatalf("build an extension server: %v", err)
	}
	return path
}

// buildExtension builds a program beside the others.
func buildExtension(name, pkg string, flags ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	dirs, err := findFolders(ctx)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dirs.bin, name)
	if err := os.MkdirAll(dirs.bin, 0o750); err != nil {
		return "", fmt.Errorf("make a folder for binaries: %w", err)
	}
	return path, goBuild(ctx, dirs.here, path, pkg, flags...)
}
