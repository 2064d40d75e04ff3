// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestWalkBootstrap registers a server, renews its certificate, asks the server itself for the objects, and removes
// everything, as bootstrap.md says. The server is started "with the manifests in deploy/".
func TestWalkBootstrap(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c, w := newInstallation(t)
	kubectl := c.Kubectl(t, "default")
	before := everything(t, kubectl)
	installVersions(t, c, furtherVersions())
	port := testenv.FreePort(t)
	w.shell.Replace("REGISTRY", "registry.example", "TAG", "v1", " 8443:443", fmt.Sprintf(" %d:443", port), "localhost:8443", fmt.Sprintf("localhost:%d", port))

	w.follow(bootstrapPage, "Registering a server: docket bootstrap")
	w.overlayOf(variantsPage, "With a certificate of your own")
	w.shell.Run(t, "kubectl apply -k my-docket")
	w.shell.Run(t, "kubectl -n docket-system rollout status statefulset docket --timeout=3m")
	c.WaitAvailable(t)
	wantOutput(t, w.follow(bootstrapPage, "Registering a server: docket bootstrap #2"), "v1alpha2.wgpolicyk8s.io", "True")
	w.create("a")
	w.follow(bootstrapPage, "What is in the List")
	w.follow(bootstrapPage, "Where CRDs of these groups are installed")
	w.wantReports("a")

	w.shell.Run(t, "kubectl -n docket-system create serviceaccount me && kubectl create clusterrolebinding me --clusterrole=cluster-admin --serviceaccount=docket-system:me")
	w.shell.Run(t, "TOKEN=$(kubectl -n docket-system create token me)")
	block := w.block(bootstrapPage, "From the server: GET /bootstrap/&lt;group&gt;").Commands()
	w.shell.Run(t, block[0])
	w.want(fmt.Sprintf("curl --silent --insecure https://localhost:%d/readyz", port), "ok")
	wantOutput(t, w.shell.Run(t, block[1]), "apiservice.apiregistration.k8s.io/v1alpha2.wgpolicyk8s.io")
	w.shell.Run(t, "kubectl delete clusterrolebinding me")

	w.follow(bootstrapPage, "The certificate")
	c.WaitAvailable(t)
	w.wantReports("a")
	wantOutput(t, w.follow(bootstrapPage, "Further versions of a group"), "deleted")
	w.wantReports("a")
	removeVersions(t, c)
	w.follow(bootstrapPage, "Removing it")
	w.shell.Run(t, "kubectl delete -k my-docket --ignore-not-found")
	checkGone(t, kubectl, before)
}
