// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

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
