// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"

	"github.com/docket-project/docket/internal/registry"
)

// CRDs returns a CustomResourceDefinition for each kind that Docket serves, with a
// complete schema, as the policy engines install them.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, kind := range registry.Kinds() {
		crd, err := kind.CRD()
		if err != nil {
			return nil, err
		}
		// Groups that end in k8s.io are protected; the published CRDs say this.
		crd.Annotations = map[string]string{apiextensionsv1.KubeAPIApprovedAnnotation: "unapproved, a test"}
		crds = append(crds, crd)
	}
	return crds, nil
}

// InstallCRDs installs the CRDs and waits until the cluster has accepted them.
func (c *Cluster) InstallCRDs(t testing.TB) {
	t.Helper()
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	c.Install(t, crds)
}

// RemoveCRDs deletes the CRDs with all their objects.
func (c *Cluster) RemoveCRDs(t testing.TB) {
	t.Helper()
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		c.Kubectl(t, "default").Run(t, "delete", "--ignore-not-found", "--timeout=50s", "crd", crd.Name)
	}
}

// Extensions returns a client for CRDs.
func (c *Cluster) Extensions(t testing.TB) apiextensions.Interface {
	t.Helper()
	client, err := apiextensions.NewForConfig(c.admin)
	if err != nil {
		t.Fatal(err)
	}
	return client
}
