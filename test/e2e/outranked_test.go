// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/test/e2e/harness"
)

// TestOutranked: somebody lets a version of a CRD come first, or takes the APIService
// away. The server says so, and reports don't outlive their namespace all the same.
func TestOutranked(t *testing.T) {
	t.Parallel()
	const group, service = "wgpolicyk8s.io", "v1alpha2.wgpolicyk8s.io"
	c := harness.StartCluster(t)
	installVersions(t, c, furtherVersions())
	replica := c.Serve(t, "--registration-check-interval=500ms")
	c.Register(t, replica.Port)
	waitRegistration(t, replica, group, "other_version")
	waitRegistration(t, replica, "reports.kyverno.io", "other_version")

	k := c.Kubectl(t, "default")
	k.Run(t, "patch", "apiservice", service, "--type=merge", "-p", `{"spec":{"versionPriority":50}}`)
	waitRegistration(t, replica, group, "outranked")
	shown, err := replica.Client(t).Get().AbsPath("/registration").DoRaw(t.Context())
	if err != nil || !strings.Contains(string(shown), `"Outranked"`) || !strings.Contains(string(shown), service) {
		t.Errorf("/registration shows %s (%v)", shown, err)
	}
	if log := replica.Log(); strings.Count(log, `reason="Outranked"`) != 1 {
		t.Errorf("the log does not tell it once:\n%s", log)
	}
	testSweep(t, c, replica, "goes")
	testSweep(t, c, replica, "comes-back")

	// kube-apiserver makes APIServices for its CRDs again.
	k.Run(t, "delete", "apiservice", service)
	waitRegistration(t, replica, group, "elsewhere", "other_version", "outranked")
	removeVersions(t, c)
	waitRegistration(t, replica, group, "not_registered")
	c.Register(t, replica.Port)
	waitRegistration(t, replica, group)
}

// testSweep: the namespace controller passes by what is in Docket, the server doesn't. A
// namespace that is called "comes-back" has a successor at once.
func testSweep(t *testing.T, c *harness.Cluster, replica *harness.Replica, namespace string) {
	t.Helper()
	c.EnsureNamespace(t, namespace)
	c.EnsureNamespace(t, "stays")
	r := policyReports(t, c, namespace)
	r.create(t, "old-a")
	r.create(t, "old-b")
	policyReports(t, c, "stays").create(t, "for-"+namespace)
	deleteNamespace(t, c, namespace)
	waitNamespaceGone(t, c, namespace)
	if namespace == "comes-back" {
		c.EnsureNamespace(t, namespace)
		r.create(t, "new")
	}
	kind := testkit.Must(sample.KindOf("policyreports"))(t)
	waitUntil(t, "the reports of the ended namespace are gone", func() bool {
		return !strings.Contains(strings.Join(stored(t, replica, kind, namespace), " "), "old-")
	})
	if namespace == "comes-back" {
		if _, err := r.Get(t.Context(), "new", metav1.GetOptions{}); err != nil {
			t.Errorf("the report of the successor: %v", err)
		}
	}
	if got := stored(t, replica, kind, "stays"); !strings.Contains(strings.Join(got, " "), "for-"+namespace) {
		t.Errorf("another namespace has %v", got)
	}
}
