// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/testenv"
)

// kyvernoModFile has a version of Kyverno; its modules would raise those of the control plane.
const kyvernoModFile = "go.kyverno.mod"

const (
	kyvernoAccount = "kyverno-reports-controller"
	// kyvernoLifetime is more than any test takes.
	kyvernoLifetime = 4 * time.Hour
)

//nolint:gochecknoglobals // One build a process is the purpose of this variable.
var buildKyverno = sync.OnceValues(func() (string, error) {
	return buildExtension("kyverno-reports-controller", "github.com/kyverno/kyverno/cmd/reports-controller", "-modfile="+kyvernoModFile)
})

// Kyverno is Kyverno's own reports controller, unmodified.
type Kyverno struct{ process process }

// NewKyverno prepares Kyverno's reports controller for a cluster, with all its CRDs. It does not
// run yet, and ends with the test. Its reports are custom resources in etcd, unless the cluster
// has Docket's APIServices.
func NewKyverno(t testing.TB, c *Cluster) *Kyverno {
	t.Helper()
	const namespace = "kyverno"
	path := extensionServer(t, buildKyverno)
	crds := kyvernoCRDs(t)
	k := c.Kubectl(t, namespace)
	c.EnsureNamespace(t, namespace)
	k.Run(t, "apply", "--server-side", "--recursive", "-f", crds)
	for _, name := range []string{"kyverno", "kyverno-metrics"} {
		k.Run(t, "create", "configmap", name, "-n", namespace)
	}
	// As a service account with all rights: nobody asks what administrators of system:masters may do,
	// and the requests of others cost more.
	k.Run(t, "create", "serviceaccount", kyvernoAccount)
	k.Run(t, "create", "clusterrolebinding", kyvernoAccount, "--clusterrole=cluster-admin", "--serviceaccount="+namespace+":"+kyvernoAccount)
	token := strings.TrimSpace(k.Run(t, "create", "token", kyvernoAccount, "--duration="+kyvernoLifetime.String()))
	port := func() string { return strconv.Itoa(testenv.FreePort(t)) }
	p := &Kyverno{process: process{
		path:      path,
		arguments: []string{"--kubeconfig", c.KubeconfigOf(t, kyvernoAccount, token), "--metricsPort", port(), "--loggingFormat", "text", "--clientRateLimitQPS", "300", "--clientRateLimitBurst", "300"},
		env: []string{
			"KYVERNO_NAMESPACE=" + namespace, "KYVERNO_SERVICEACCOUNT_NAME=" + kyvernoAccount, "KYVERNO_DEPLOYMENT=kyverno-reports-controller",
			"KYVERNO_POD_NAME=kyverno-reports-controller", "INIT_CONFIG=kyverno", "METRICS_CONFIG=kyverno-metrics",
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
	if err := k.process.start(t.Context(), func(_ context.Context, o *output) bool { return len(o.copied()) > 0 }); err != nil {
		t.Fatal(err)
	}
}

// Kill ends it with SIGKILL.
func (k *Kyverno) Kill(t testing.TB) {
	t.Helper()
	if err := k.process.end(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
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
