// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/registry"
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
	crds := testkit.Must(CRDs())(t)
	c.Install(t, crds)
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
	crds, err := CRDs()
	if err != nil {
		t.Fatal(err)
	}
	client := c.Extensions(t).ApiextensionsV1().CustomResourceDefinitions()
	for _, crd := range crds {
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
