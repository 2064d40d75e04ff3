// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/test/e2e/harness"
)

// furtherVersions are versions of the groups beside those that Docket serves. The first
// group has those of the CRD that wg-policy-prototypes publishes; the others are made up,
// and such that Kubernetes puts them first where priorities are equal.
func furtherVersions() map[string][]string {
	return map[string][]string{
		"wgpolicyk8s.io":     {"v1alpha1", "v1beta1"},
		"openreports.io":     {"v1beta1"},
		"reports.kyverno.io": {"v2"},
	}
}

// manyVersions returns a CRD for each of the kinds, with the version that Docket serves
// and with others, which take any content.
func manyVersions(t *testing.T, further map[string][]string) string {
	t.Helper()
	var items []any
	for _, kind := range registry.Kinds() {
		version := kind.GroupVersion()
		var versions []any
		for _, name := range append([]string{version.Version}, further[version.Group]...) {
			versions = append(versions, map[string]any{
				"name": name, "served": true, "storage": name == version.Version,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			})
		}
		scope := "Cluster"
		if kind.Namespaced {
			scope = "Namespaced"
		}
		items = append(items, map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{
				"name":        kind.Resource + "." + version.Group,
				"annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, a test"},
			},
			"spec": map[string]any{
				"group": version.Group, "scope": scope, "versions": versions,
				"names": map[string]any{
					"kind": kind.GroupVersionKind.Kind, "listKind": kind.ListKind().Kind, "plural": kind.Resource, "singular": kind.Singular,
					"shortNames": kind.ShortNames,
				},
			},
		})
	}
	data := testkit.Must(json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": items}))(t)
	return string(data)
}

// installVersions installs the CRDs, or changes those that are there, and returns when
// the cluster serves all their versions.
func installVersions(t *testing.T, c *harness.Cluster, further map[string][]string) {
	t.Helper()
	k := c.Kubectl(t, "default")
	k.RunInput(t, manyVersions(t, further), "apply", "--server-side", "--force-conflicts", "-f", "-")
	for group, versions := range further {
		for _, version := range versions {
			waitUntil(t, "the cluster serves "+version+" of "+group, func() bool {
				list, err := c.Client(t).Discovery().ServerResourcesForGroupVersion(group + "/" + version)
				return err == nil && len(list.APIResources) > 0
			})
		}
	}
}

// removeVersions deletes the CRDs, and returns when nothing of them is served.
func removeVersions(t *testing.T, c *harness.Cluster) {
	t.Helper()
	c.RemoveCRDs(t)
	waitUntil(t, "the versions of the CRDs are gone", func() bool {
		_, err := c.Client(t).Discovery().ServerResourcesForGroupVersion("wgpolicyk8s.io/v1beta1")
		return err != nil
	})
}

// TestFurtherVersionsBefore: Docket comes to a cluster with CRDs of its groups, the
// published ones and such with more versions, and stays first whatever becomes of them.
func TestFurtherVersionsBefore(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := harness.StartCluster(t)
	c.InstallKyvernoReportCRDs(t)
	replica := c.Serve(t)
	c.Register(t, replica.Port)
	wantDocketFirst(t, c, replica, "published")

	installVersions(t, c, furtherVersions()) // In the same CRDs.
	wantDocketFirst(t, c, replica, "more-versions")
	removeVersions(t, c)
	wantDocketFirst(t, c, replica, "removed")
	installVersions(t, c, furtherVersions())
	wantDocketFirst(t, c, replica, "installed-again")
	c.Unregister(t)
	c.Register(t, replica.Port)
	wantDocketFirst(t, c, replica, "registered-again")
}

// TestFurtherVersionsLater: the CRDs come after Docket. What the cluster's controllers do
// for reports goes on.
func TestFurtherVersionsLater(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c := harness.StartCluster(t)
	replica := c.Serve(t, "--registration-check-interval=500ms")
	c.Register(t, replica.Port)
	installVersions(t, c, furtherVersions())
	wantDocketFirst(t, c, replica, "later")
	waitRegistration(t, replica, "wgpolicyk8s.io", "other_version")

	t.Run("what is written in another version", func(t *testing.T) { testOtherVersionIsElsewhere(t, c, replica) })
	t.Run("quota", func(t *testing.T) { testQuota(t, c) })
	t.Run("garbage", func(t *testing.T) { testGarbage(t, c) })
}

// wantDocketFirst checks what clients and controllers that name no version do. Reports
// are in a namespace of the given name, which ends.
func wantDocketFirst(t *testing.T, c *harness.Cluster, replica *harness.Replica, namespace string) {
	t.Helper()
	c.WaitAvailable(t)
	waitPreferred(t, c)
	c.EnsureNamespace(t, namespace)
	k := c.Kubectl(t, namespace)
	for _, kind := range sample.Kinds() {
		r := newReports(t, c, kind, namespace)
		if r.namespace == "" {
			continue
		}
		r.create(t, "a")
		group, _, _ := strings.Cut(kind.APIVersion, "/")
		want := strings.ToLower(kind.Kind) + "." + group + "/a\n"
		for _, name := range append([]string{kind.Resource}, shortNames(t, kind.Resource)...) {
			if got := k.Try(t, "", "get", name, "-o", "name"); got.Stdout != want {
				t.Errorf("%s: kubectl get %s shows %q and says %q, want %q", namespace, name, got.Stdout, got.Stderr, want)
			}
		}
	}
	deleteNamespace(t, c, namespace)
	waitNamespaceGone(t, c, namespace)
	for _, kind := range sample.Kinds() {
		if left := stored(t, replica, kind, namespace); len(left) > 0 {
			t.Errorf("%s: Docket still has %v after the end of the namespace", namespace, left)
		}
	}
	c.EnsureNamespace(t, namespace)
	for _, kind := range sample.Kinds() {
		if got := k.Run(t, "get", kind.Resource, "-o", "name"); kind.Namespaced && got != "" {
			t.Errorf("%s: the next namespace of that name has %q", namespace, got)
		}
	}
}

// waitPreferred returns when the cluster's discovery puts our versions first.
func waitPreferred(t *testing.T, c *harness.Cluster) {
	t.Helper()
	for _, version := range harness.APIServices() {
		waitSettled(t, 100*time.Millisecond, func() string {
			var got metav1.APIGroup
			data, err := c.Client(t).Discovery().RESTClient().Get().AbsPath("/apis/" + version.Group).DoRaw(t.Context())
			if err == nil && json.Unmarshal(data, &got) == nil && got.PreferredVersion.Version == version.Version {
				return ""
			}
			return fmt.Sprintf("the preferred version of %s is %q: %v", version.Group, got.PreferredVersion.Version, err)
		})
	}
}

func shortNames(t *testing.T, resource string) []string {
	t.Helper()
	for _, kind := range registry.Kinds() {
		if kind.Resource == resource {
			return kind.ShortNames
		}
	}
	t.Fatalf("no kind has the resource %s", resource)
	return nil
}

// stored returns the names of reports in Docket itself, past the cluster.
func stored(t *testing.T, replica *harness.Replica, kind sample.Kind, namespace string) []string {
	t.Helper()
	if !kind.Namespaced {
		return nil
	}
	return namesAt(t, replica.Client(t), fmt.Sprintf("/apis/%s/namespaces/%s/%s", kind.APIVersion, namespace, kind.Resource))
}

func namesAt(t *testing.T, client rest.Interface, path string) []string {
	t.Helper()
	data, err := client.Get().AbsPath(path).DoRaw(t.Context())
	if err != nil {
		t.Fatalf("list %s: %v", path, err)
	}
	var list metav1.PartialObjectMetadataList
	testkit.NoError(t, json.Unmarshal(data, &list))
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// testOtherVersionIsElsewhere: what docs/operate/bootstrap.md says of objects that are written in
// a version of the CRD. They are in etcd, and nobody takes them for reports of Docket.
func testOtherVersionIsElsewhere(t *testing.T, c *harness.Cluster, replica *harness.Replica) {
	const namespace = "mixed"
	c.EnsureNamespace(t, namespace)
	kind := testkit.Must(sample.KindOf("policyreports"))(t)
	other := kind
	other.APIVersion = schema.GroupVersion{Group: "wgpolicyk8s.io", Version: "v1beta1"}.String()
	newReports(t, c, kind, namespace).create(t, "in-docket")
	newReports(t, c, other, namespace).create(t, "in-etcd")
	if got := stored(t, replica, kind, namespace); len(got) != 1 || got[0] != "in-docket" {
		t.Errorf("Docket has %v", got)
	}
	k := c.Kubectl(t, namespace)
	for resource, want := range map[string]string{"polr": "in-docket", "policyreports.v1beta1.wgpolicyk8s.io": "in-etcd"} {
		if got := k.Run(t, "get", resource, "-o", "jsonpath={.items[*].metadata.name}"); got != want {
			t.Errorf("kubectl get %s shows %q, want %q", resource, got, want)
		}
	}
}

// waitRegistration returns when the replica has the problem in its metrics, and no other
// of the same group; "" is none at all.
func waitRegistration(t *testing.T, replica *harness.Replica, group string, reasons ...string) {
	t.Helper()
	var got []string
	waitUntil(t, fmt.Sprintf("the replica says %v about %s", reasons, group), func() bool {
		metrics, err := replica.Client(t).Get().AbsPath("/metrics").DoRaw(t.Context())
		if err != nil {
			return false // A busy machine: asked again.
		}
		got = nil
		known := false
		for line := range strings.Lines(string(metrics)) {
			labels, isOurs := strings.CutPrefix(line, `docket_apiserver_registration_problem{group="`+group+`",reason="`)
			known = known || isOurs
			if reason, is := strings.CutSuffix(labels, "\"} 1\n"); isOurs && is {
				got = append(got, reason)
			}
		}
		return known && strings.Join(got, " ") == strings.Join(reasons, " ")
	})
}

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
