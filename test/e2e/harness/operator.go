// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// operatorLifetime is more than any test takes.
const operatorLifetime = 4 * time.Hour

// Operator is a program with controllers of another project, unmodified.
type Operator struct{ process process }

// newOperator prepares a program for a cluster. It does not run yet, and ends with the test.
func (c *Cluster) newOperator(t testing.TB, namespace, program string, env []string, arguments ...string) *Operator {
	t.Helper()
	k := c.Kubectl(t, namespace)
	// As a service account with all rights: nobody asks what administrators of system:masters may do,
	// and the requests of others cost more.
	k.Run(t, "create", "serviceaccount", program)
	k.Run(t, "create", "clusterrolebinding", program, "--clusterrole=cluster-admin", "--serviceaccount="+namespace+":"+program)
	token := strings.TrimSpace(k.Run(t, "create", "token", program, "--duration="+operatorLifetime.String()))
	o := &Operator{process: process{
		path: testenv.Program(t, program), env: env,
		arguments: append([]string{"--kubeconfig", c.KubeconfigOf(t, program, token)}, arguments...),
	}}
	t.Cleanup(func() {
		if err := o.process.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		o.process.log(t)
	})
	return o
}

// certManagerNamespace has the lease of cert-manager's controllers, and the Secrets of ClusterIssuers.
const certManagerNamespace = "cert-manager"

// NewCertManager prepares cert-manager's controllers for a cluster that serves their kinds.
func (c *Cluster) NewCertManager(t testing.TB) *Operator {
	t.Helper()
	c.EnsureNamespace(t, certManagerNamespace)
	return c.newOperator(t, certManagerNamespace, "cert-manager", nil, "--namespace", certManagerNamespace)
}

// Start starts it, again if need be, from now on with more arguments. It has no probe: what it
// writes shows that it works.
func (o *Operator) Start(t testing.TB, more ...string) {
	t.Helper()
	o.process.arguments = append(o.process.arguments, more...)
	testkit.NoError(t, o.process.start(t.Context(), func(_ context.Context, output *output) bool { return len(output.copied()) > 0 }))
}

// Kill ends it with SIGKILL.
func (o *Operator) Kill(t testing.TB) {
	t.Helper()
	testkit.NoError(t, o.process.end(syscall.SIGKILL))
}

// PID is the process number, for its memory.
func (o *Operator) PID() int { return o.process.pid() }

// Complaints are the lines of its log about errors, of all its runs.
func (o *Operator) Complaints() []string { return o.process.output.complained() }

// Alive reports whether it has not ended by itself.
func (o *Operator) Alive() bool { return o.process.alive() }
