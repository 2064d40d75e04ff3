// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const (
	kyvernoNamespace = "kyverno"
	// kyvernoLifetime is more than any test takes.
	kyvernoLifetime = 4 * time.Hour
)

// kyvernoProgram is one of Kyverno's controllers, and its ServiceAccount.
type kyvernoProgram string

const (
	kyvernoReports    kyvernoProgram = "kyverno-reports-controller"
	kyvernoAdmission  kyvernoProgram = "kyverno-admission-controller"
	kyvernoBackground kyvernoProgram = "kyverno-background-controller"
)

// Kyverno is one of Kyverno's own controllers, unmodified.
type Kyverno struct{ process process }

// InstallKyverno prepares a cluster for Kyverno's controllers, with all its CRDs. Reports are custom resources in
// etcd, unless the cluster has Docket's APIServices.
func (c *Cluster) InstallKyverno(t testing.TB) {
	t.Helper()
	k := c.Kubectl(t, kyvernoNamespace)
	c.EnsureNamespace(t, kyvernoNamespace)
	k.Run(t, "apply", "--server-side", "--recursive", "-f", kyvernoCRDs(t))
	for _, name := range []string{"kyverno", "kyverno-metrics"} {
		k.Run(t, "create", "configmap", name, "-n", kyvernoNamespace)
	}
}

// NewKyverno prepares Kyverno's reports controller for a cluster, and the cluster for it. It does not run yet, and
// ends with the test.
func NewKyverno(t testing.TB, c *Cluster) *Kyverno {
	t.Helper()
	c.InstallKyverno(t)
	return c.NewKyvernoReports(t)
}

// NewKyvernoReports is NewKyverno after InstallKyverno.
func (c *Cluster) NewKyvernoReports(t testing.TB) *Kyverno {
	t.Helper()
	return c.newKyverno(t, kyvernoReports)
}

// NewKyvernoAdmission prepares Kyverno's admission controller, which listens on loopback, after InstallKyverno.
func (c *Cluster) NewKyvernoAdmission(t testing.TB) *Kyverno {
	t.Helper()
	port := strconv.Itoa(testenv.FreePort(t))
	account := func(p kyvernoProgram) string { return "system:serviceaccount:" + kyvernoNamespace + ":" + string(p) }
	return c.newKyverno(t, kyvernoAdmission, "--backgroundServiceAccountName", account(kyvernoBackground), "--reportsServiceAccountName", account(kyvernoReports),
		"--serverIP", "127.0.0.1:"+port, "--webhookServerHost", "127.0.0.1", "--webhookServerPort", port,
		"--caSecretName", "kyverno-ca", "--tlsSecretName", "kyverno-tls", "--controllerRuntimeMetricsAddress", "0")
}

// NewKyvernoBackground prepares Kyverno's background controller, after InstallKyverno.
func (c *Cluster) NewKyvernoBackground(t testing.TB) *Kyverno {
	t.Helper()
	return c.newKyverno(t, kyvernoBackground)
}

func (c *Cluster) newKyverno(t testing.TB, program kyvernoProgram, arguments ...string) *Kyverno {
	t.Helper()
	account := string(program)
	k := c.Kubectl(t, kyvernoNamespace)
	// As a service account with all rights: nobody asks what administrators of system:masters may do,
	// and the requests of others cost more.
	k.Run(t, "create", "serviceaccount", account)
	k.Run(t, "create", "clusterrolebinding", account, "--clusterrole=cluster-admin", "--serviceaccount="+kyvernoNamespace+":"+account)
	token := strings.TrimSpace(k.Run(t, "create", "token", account, "--duration="+kyvernoLifetime.String()))
	p := &Kyverno{process: process{
		path: testenv.Program(t, account),
		arguments: append([]string{
			"--kubeconfig", c.KubeconfigOf(t, account, token), "--metricsPort", strconv.Itoa(testenv.FreePort(t)), "--loggingFormat", "text",
			"--clientRateLimitQPS", "300", "--clientRateLimitBurst", "300",
		}, arguments...),
		env: []string{
			"KYVERNO_NAMESPACE=" + kyvernoNamespace, "KYVERNO_SERVICEACCOUNT_NAME=" + account, "KYVERNO_DEPLOYMENT=" + account,
			"KYVERNO_POD_NAME=" + account, "INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics",
		},
	}}
	t.Cleanup(func() {
		if err := p.process.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		p.process.log(t)
	})
	return p
}

// Start starts it, again if need be, from now on with more arguments. It has no probe: what it
// writes shows that it works.
func (k *Kyverno) Start(t testing.TB, more ...string) {
	t.Helper()
	k.process.arguments = append(k.process.arguments, more...)
	testkit.NoError(t, k.process.start(t.Context(), func(_ context.Context, o *output) bool { return len(o.copied()) > 0 }))
}

// Kill ends it with SIGKILL.
func (k *Kyverno) Kill(t testing.TB) {
	t.Helper()
	testkit.NoError(t, k.process.end(syscall.SIGKILL))
}

// PID is the process number, for its memory.
func (k *Kyverno) PID() int { return k.process.pid() }

// InstallKyvernoReportCRDs installs the CRDs of reports that Kyverno publishes.
func (c *Cluster) InstallKyvernoReportCRDs(t testing.TB) {
	t.Helper()
	crds := kyvernoCRDs(t)
	for _, folder := range []string{"policyreport", "reports"} {
		c.Kubectl(t, "default").Run(t, "apply", "--server-side", "-f", filepath.Join(crds, folder))
	}
}

// kyvernoCRDs is the folder of the CRDs in Kyverno's module.
func kyvernoCRDs(t testing.TB) string {
	t.Helper()
	return filepath.Join(moduleFolder(t, kyvernoModule), "config", "crds")
}

// Complaints are the lines of its log about errors, of all its runs.
func (k *Kyverno) Complaints() []string { return k.process.output.complained() }

// Alive reports whether it has not ended by itself.
func (k *Kyverno) Alive() bool { return k.process.alive() }
