// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
)

const kyvernoNamespace = "kyverno"

// kyvernoProgram is one of Kyverno's controllers, and its ServiceAccount.
type kyvernoProgram string

const (
	kyvernoReports    kyvernoProgram = "kyverno-reports-controller"
	kyvernoAdmission  kyvernoProgram = "kyverno-admission-controller"
	kyvernoBackground kyvernoProgram = "kyverno-background-controller"
)

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
func NewKyverno(t testing.TB, c *Cluster) *Operator {
	t.Helper()
	c.InstallKyverno(t)
	return c.NewKyvernoReports(t)
}

// NewKyvernoReports is NewKyverno after InstallKyverno.
func (c *Cluster) NewKyvernoReports(t testing.TB) *Operator {
	t.Helper()
	return c.newKyverno(t, kyvernoReports)
}

// NewKyvernoAdmission prepares Kyverno's admission controller, which listens on loopback, after InstallKyverno.
func (c *Cluster) NewKyvernoAdmission(t testing.TB) *Operator {
	t.Helper()
	port := strconv.Itoa(testenv.FreePort(t))
	account := func(p kyvernoProgram) string { return "system:serviceaccount:" + kyvernoNamespace + ":" + string(p) }
	return c.newKyverno(t, kyvernoAdmission, "--backgroundServiceAccountName", account(kyvernoBackground), "--reportsServiceAccountName", account(kyvernoReports),
		"--serverIP", "127.0.0.1:"+port, "--webhookServerHost", "127.0.0.1", "--webhookServerPort", port,
		"--caSecretName", "kyverno-ca", "--tlsSecretName", "kyverno-tls", "--controllerRuntimeMetricsAddress", "0")
}

// NewKyvernoBackground prepares Kyverno's background controller, after InstallKyverno.
func (c *Cluster) NewKyvernoBackground(t testing.TB) *Operator {
	t.Helper()
	return c.newKyverno(t, kyvernoBackground)
}

func (c *Cluster) newKyverno(t testing.TB, program kyvernoProgram, arguments ...string) *Operator {
	t.Helper()
	account := string(program)
	return c.newOperator(t, kyvernoNamespace, account, []string{
		"KYVERNO_NAMESPACE=" + kyvernoNamespace, "KYVERNO_SERVICEACCOUNT_NAME=" + account, "KYVERNO_DEPLOYMENT=" + account,
		"KYVERNO_POD_NAME=" + account, "INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics",
	}, append([]string{
		"--metricsPort", strconv.Itoa(testenv.FreePort(t)), "--loggingFormat", "text", "--clientRateLimitQPS", "300", "--clientRateLimitBurst", "300",
	}, arguments...)...)
}

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
