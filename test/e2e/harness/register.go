// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/bootstrap"
)

// registerTimeout bounds the time in which the aggregator notices a change.
const registerTimeout = 2 * time.Minute

// APIServices are the names and parts of those that Docket serves.
func APIServices() map[string]metav1.GroupVersion {
	return map[string]metav1.GroupVersion{
		"v1alpha2.wgpolicyk8s.io": {Group: "wgpolicyk8s.io", Version: "v1alpha2"},
		"v1alpha1.openreports.io": {Group: "openreports.io", Version: "v1alpha1"},
		"v1.reports.kyverno.io":   {Group: "reports.kyverno.io", Version: "v1"},
	}
}

// Register points the cluster's Service to a port on loopback, and the APIServices
// to the Service, with the authority that signs the replicas' certificates. It
// returns when the cluster says that all are available. A replica that was registered before
// must have ended: until kube-apiserver learns of the new port, the old one answers. Versions beyond those of reports
// are registered, too.
func (c *Cluster) Register(t testing.TB, port int, further ...metav1.GroupVersion) {
	t.Helper()
	versions := APIServices()
	for _, version := range further {
		versions[version.Version+"."+version.Group] = version
	}
	c.register(t, port, c.docket.pem, versions)
	c.waitAvailable(t, versions)
}

// RegisterWith is Register for reports with any authority, and without the wait.
func (c *Cluster) RegisterWith(t testing.TB, port int, authority []byte) {
	t.Helper()
	c.register(t, port, authority, APIServices())
}

func (c *Cluster) register(t testing.TB, port int, authority []byte, versions map[string]metav1.GroupVersion) {
	t.Helper()
	c.EnsureNamespace(t, Namespace)
	ctx := t.Context()
	// There is no network of pods: the API server dials the name itself.
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: ServiceName, Namespace: Namespace},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}
	if _, err := c.Client(t).CoreV1().Services(Namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("create the Service: %v", err)
	}
	port32 := int32(port)
	for name, version := range versions {
		spec := apiregistrationv1.APIServiceSpec{
			Service:              &apiregistrationv1.ServiceReference{Namespace: Namespace, Name: ServiceName, Port: &port32},
			Group:                version.Group,
			Version:              version.Version,
			CABundle:             authority,
			GroupPriorityMinimum: bootstrap.GroupPriorityMinimum,
			VersionPriority:      bootstrap.VersionPriority,
		}
		if err := c.putAPIService(ctx, t, name, spec); err != nil {
			t.Fatalf("register %s: %v", name, err)
		}
	}
}

// putAPIService creates or changes an APIService. The label tells kube-apiserver,
// which makes APIServices for CRDs, that this one is not its own any more.
func (c *Cluster) putAPIService(ctx context.Context, t testing.TB, name string, spec apiregistrationv1.APIServiceSpec) error {
	services := c.Aggregator(t).ApiregistrationV1().APIServices()
	labels := map[string]string{"kube-aggregator.kubernetes.io/automanaged": "false"}
	return wait.PollUntilContextTimeout(ctx, pollInterval, registerTimeout, true, func(ctx context.Context) (bool, error) {
		have, err := services.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = services.Create(ctx, &apiregistrationv1.APIService{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: spec,
			}, metav1.CreateOptions{})
		} else if err == nil {
			have.Spec, have.Labels = spec, labels
			_, err = services.Update(ctx, have, metav1.UpdateOptions{})
		}
		if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
			return false, nil
		}
		return err == nil, err
	})
}

// Aggregator returns a client for APIServices.
func (c *Cluster) Aggregator(t testing.TB) aggregator.Interface {
	t.Helper()
	return testkit.Must(aggregator.NewForConfig(c.admin))(t)
}

// WaitAvailable returns when the cluster says that all APIServices of Docket are
// available, and has their resources in the discovery that kubectl asks for, which comes a moment later.
func (c *Cluster) WaitAvailable(t testing.TB) {
	t.Helper()
	c.waitAvailable(t, APIServices())
}

func (c *Cluster) waitAvailable(t testing.TB, versions map[string]metav1.GroupVersion) {
	t.Helper()
	var problem string
	err := wait.PollUntilContextTimeout(t.Context(), pollInterval, registerTimeout, true, func(ctx context.Context) (bool, error) {
		for name, version := range versions {
			if problem = c.unavailable(ctx, t, name); problem != "" {
				return false, nil
			}
			// By way of the proxy, which learns of the APIService by itself.
			if _, err := c.Client(t).Discovery().ServerResourcesForGroupVersion(version.String()); err != nil {
				problem = fmt.Sprintf("%s: %v", name, err)
				return false, nil
			}
		}
		problem = c.undiscovered(t, versions)
		return problem == "", nil
	})
	if err != nil {
		t.Fatalf("the APIServices are not available (%s): %v", problem, err)
	}
}

// undiscovered returns which version is not in discovery, "" if all are.
func (c *Cluster) undiscovered(t testing.TB, versions map[string]metav1.GroupVersion) string {
	_, lists, err := c.Client(t).Discovery().ServerGroupsAndResources()
	for name, version := range versions {
		if !slices.ContainsFunc(lists, func(list *metav1.APIResourceList) bool {
			return list.GroupVersion == version.String() && len(list.APIResources) > 0
		}) {
			return fmt.Sprintf("discovery does not have %s: %v", name, err) // The error may be about others.
		}
	}
	return ""
}

// unavailable returns why an APIService is not available, "" if it is.
func (c *Cluster) unavailable(ctx context.Context, t testing.TB, name string) string {
	service, err := c.Aggregator(t).ApiregistrationV1().APIServices().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	for _, condition := range service.Status.Conditions {
		if condition.Type == apiregistrationv1.Available {
			if condition.Status == apiregistrationv1.ConditionTrue {
				return ""
			}
			return condition.Reason + ": " + condition.Message
		}
	}
	return name + " has no condition yet"
}

// Availability returns reason and message of an APIService's condition, "" when it is
// available.
func (c *Cluster) Availability(t testing.TB, name string) string {
	t.Helper()
	return c.unavailable(t.Context(), t, name)
}

// Unregister deletes the APIServices.
func (c *Cluster) Unregister(t testing.TB) {
	t.Helper()
	for name := range APIServices() {
		err := c.Aggregator(t).ApiregistrationV1().APIServices().Delete(t.Context(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Fatalf("delete APIService %s: %v", name, err)
		}
	}
}

// EnsureNamespace creates a namespace unless it is there.
func (c *Cluster) EnsureNamespace(t testing.TB, name string) {
	t.Helper()
	_, err := c.Client(t).CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("create namespace %s: %v", name, err)
	}
}
