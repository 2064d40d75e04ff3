// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/reports/registry"
)

// CRDs returns a CustomResourceDefinition for each kind that Docket serves, with a
// complete schema, as the policy engines install them.
func CRDs() []*apiextensionsv1.CustomResourceDefinition {
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range registry.Kinds() {
		crd := kind.CRD()
		// Groups that end in k8s.io are protected; the published CRDs say this.
		crd.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, a test"}
		crds = append(crds, crd)
	}
	return crds
}

// InstallCRDs installs the CRDs and waits until the cluster has accepted them.
func (c *Cluster) InstallCRDs(t testing.TB) {
	t.Helper()
	c.Install(t, CRDs())
}

// removeTimeout is how long a CRD may be there after it was deleted: on a busy machine more than 30 s, as the tests of
// Kubernetes see, too (https://github.com/kubernetes/kubernetes/pull/138086).
const removeTimeout = 3 * time.Minute

// touchInterval is how often a CRD that is still there is changed. After each failure ("storage is (re)initializing",
// say) the controller that removes it waits twice as long; a change of the CRD makes it try at once.
const touchInterval = 10 * time.Second

// RemoveCRDs deletes the CRDs with all their objects, and returns when they are gone.
func (c *Cluster) RemoveCRDs(t testing.TB) {
	t.Helper()
	client := c.Extensions(t).ApiextensionsV1().CustomResourceDefinitions()
	for _, crd := range CRDs() {
		if err := client.Delete(t.Context(), crd.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		var status apiextensionsv1.CustomResourceDefinitionStatus
		touched := time.Now()
		err := wait.PollUntilContextTimeout(t.Context(), pollInterval, removeTimeout, true, func(ctx context.Context) (bool, error) {
			found, err := client.Get(ctx, crd.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			if err == nil {
				status = found.Status
			}
			if err == nil && time.Since(touched) > touchInterval {
				touched = time.Now()
				found.Annotations["docket.dev/touched"] = touched.Format(time.RFC3339)
				_, err = client.Update(ctx, found, metav1.UpdateOptions{})
				if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
					err = nil
				}
			}
			return false, err
		})
		if err != nil {
			t.Fatalf("%s was deleted and is still there: %v; its status: %+v", crd.Name, err, status)
		}
	}
}

// Extensions returns a client for CRDs.
func (c *Cluster) Extensions(t testing.TB) apiextensions.Interface {
	t.Helper()
	return testkit.Must(apiextensions.NewForConfig(c.admin))(t)
}

// kyvernoModFile has a version of Kyverno; its modules would raise those of the control plane.
const kyvernoModFile = "go.kyverno.mod"

// Modules of kyvernoModFile with the CRDs that people install.
const (
	kyvernoModule     = "github.com/kyverno/kyverno"
	openReportsModule = "github.com/openreports/reports-api"
)

// moduleFolder returns where a module of Kyverno's is.
func moduleFolder(t testing.TB, module string) string {
	t.Helper()
	dirs := testkit.Must(findFolders(t.Context()))(t)
	return moduleOf(t, dirs.here, module, "-modfile="+kyvernoModFile)
}

// moduleOf returns where a module is at the version that a folder of ours requires.
func moduleOf(t testing.TB, dir, module string, flags ...string) string {
	t.Helper()
	// list -m knows the folder only of what has been fetched.
	testkit.Must(runGo(t.Context(), dir, slices.Concat([]string{"mod", "download"}, flags, []string{module})...))(t)
	return testkit.Must(goList(t.Context(), dir, slices.Concat([]string{"-m", "-f", "{{.Dir}}"}, flags, []string{module})...))(t)
}

// CertManagerCRDs returns the folder with the definitions of cert-manager's kinds.
func CertManagerCRDs(t testing.TB) string {
	t.Helper()
	dirs := testkit.Must(findFolders(t.Context()))(t)
	return filepath.Join(moduleOf(t, filepath.Join(dirs.here, "programs", "certmanager"), "github.com/cert-manager/cert-manager"), "deploy", "crds")
}

// Module returns the folder of a public module at a version, such as example.com/module@v1.2.3.
func Module(t testing.TB, module string) string {
	t.Helper()
	// In a folder that no module of ours contains: their requirements don't matter.
	printed := testkit.Must(runGo(t.Context(), t.TempDir(), "mod", "download", "-json", module))(t)
	var downloaded struct{ Dir string }
	testkit.NoError(t, json.Unmarshal([]byte(printed), &downloaded))
	return downloaded.Dir
}

// PublishedCRDFolders returns the folders with the CustomResourceDefinitions of reports as they are
// published: in Kyverno's module, and in that of OpenReports' API which Kyverno is built with.
func PublishedCRDFolders(t testing.TB) []string {
	t.Helper()
	return []string{kyvernoCRDs(t), filepath.Join(moduleFolder(t, openReportsModule), "config", "crd")}
}

// KyvernoVersion is the version of the controller and of the CRDs.
func KyvernoVersion(t testing.TB) string {
	t.Helper()
	dirs := testkit.Must(findFolders(t.Context()))(t)
	return testkit.Must(goList(t.Context(), dirs.here, "-m", "-modfile="+kyvernoModFile, "-f", "{{.Version}}", kyvernoModule))(t)
}

// InstallPublishedCRDs installs the definitions of the six kinds that Kyverno and
// OpenReports publish, and waits until the cluster has accepted them.
func (c *Cluster) InstallPublishedCRDs(t testing.TB) {
	t.Helper()
	c.InstallKyvernoReportCRDs(t)
	k := c.Kubectl(t, "default")
	k.Run(t, "apply", "--server-side", "-f", filepath.Join(moduleFolder(t, openReportsModule), "config", "crd"))
	for _, kind := range sample.Kinds() {
		group, _, _ := strings.Cut(kind.APIVersion, "/")
		k.Run(t, "wait", "--for=condition=Established", "--timeout=30s", "crd/"+kind.Resource+"."+group)
	}
}

// Install installs CustomResourceDefinitions and waits until the cluster serves them.
func (c *Cluster) Install(t testing.TB, definitions []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	client := c.Extensions(t).ApiextensionsV1().CustomResourceDefinitions()
	for _, definition := range definitions {
		if _, err := client.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("install CRD %s: %v", definition.Name, err)
		}
	}
	for _, definition := range definitions {
		err := wait.PollUntilContextTimeout(t.Context(), pollInterval, registerTimeout, true, func(ctx context.Context) (bool, error) {
			found, err := client.Get(ctx, definition.Name, metav1.GetOptions{})
			return err == nil && slices.ContainsFunc(found.Status.Conditions, func(condition apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue
			}), err
		})
		if err != nil {
			t.Fatalf("CRD %s is not established: %v", definition.Name, err)
		}
	}
}
