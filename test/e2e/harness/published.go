// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
)

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
	// list -m knows the folder only of what has been fetched.
	testkit.Must(runGo(t.Context(), dirs.here, "mod", "download", "-modfile="+kyvernoModFile, module))(t)
	return testkit.Must(goList(t.Context(), dirs.here, "-m", "-modfile="+kyvernoModFile, "-f", "{{.Dir}}", module))(t)
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

// Install installs CustomResourceDefinitions and waits until the cluster has accepted them.
func (c *Cluster) Install(t testing.TB, definitions []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	client, k := c.Extensions(t).ApiextensionsV1().CustomResourceDefinitions(), c.Kubectl(t, "default")
	for _, definition := range definitions {
		if _, err := client.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("install CRD %s: %v", definition.Name, err)
		}
		k.Run(t, "wait", "--for=condition=Established", "--timeout=30s", "crd/"+definition.Name)
	}
}
