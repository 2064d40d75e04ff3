// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
)

// SampleAPIServer returns the path of Kubernetes' sample server: an unmodified server on RecommendedOptions. It needs
// an etcd, and serves wardle.example.com.
func SampleAPIServer(t testing.TB) string {
	t.Helper()
	return testenv.Program(t, "sample-apiserver")
}

// MetricsServer returns the path of metrics-server: an unmodified server without a storage that serves metrics.k8s.io.
func MetricsServer(t testing.TB) string {
	t.Helper()
	return testenv.Program(t, "metrics-server")
}
