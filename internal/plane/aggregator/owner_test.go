// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/aggregator"
)

func definition(group string) *apiextensions.CustomResourceDefinition {
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets." + group},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "gadgets", Kind: "Gadget"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
}

// TestCustomResourcesAreRegistered: an established definition has a local APIService, and its
// objects are served; both go with it.
func TestCustomResourcesAreRegistered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.custom.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), definition("crd.example.com"), metav1.CreateOptions{})
	testkit.NoError(t, err)
	w.available(t, "v1.crd.example.com", apiregistration.ConditionTrue)
	testkit.Settles(t, func() string {
		if code, body, _ := w.get(t, "/apis/crd.example.com/v1/gadgets"); code != http.StatusOK {
			return body
		}
		return ""
	})
	owner, remote, ok := w.aggregator.Owner(schema.GroupVersion{Group: "crd.example.com", Version: "v1"})
	if owner != "CustomResourceDefinition gadgets.crd.example.com" || remote || !ok {
		t.Errorf("owner %q %v %v", owner, remote, ok)
	}
	// A server can't take it.
	b := newBackend(t, w, "crd.example.com/v1", echoHost)
	_, err = w.client.ApiregistrationV1().APIServices().Create(t.Context(), b.service(), metav1.CreateOptions{})
	refused(t, err, "spec.version", "CustomResourceDefinition gadgets.crd.example.com")
	testkit.NoError(t, w.custom.ApiextensionsV1().CustomResourceDefinitions().Delete(t.Context(), "gadgets.crd.example.com", metav1.DeleteOptions{}))
	testkit.Settles(t, func() string {
		if _, err := w.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.crd.example.com", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return "the APIService is still there"
		}
		return ""
	})
}

func refused(t *testing.T, err error, field, text string) {
	t.Helper()
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("not refused: %v", err)
	}
	if !errors.As(err, &status) || !strings.Contains(err.Error(), text) || status.Status().Details == nil || len(status.Status().Details.Causes) != 1 || status.Status().Details.Causes[0].Field != field {
		t.Errorf("%v %+v, want %s %q", err, status.Status().Details, field, text)
	}
}

// TestOneOwner: a group version that is served is not given to another server, nor to a
// definition; the message names the owner.
func TestOneOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.serving(t, "wardle.example.com/v1")
	_, err := w.custom.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), definition("wardle.example.com"), metav1.CreateOptions{})
	refused(t, err, "spec.versions[0].name", "APIService v1.wardle.example.com (Service default/echo)")
	second := b.service()
	second.Spec.Service.Name = "another"
	_, err = w.client.ApiregistrationV1().APIServices().Create(t.Context(), second, metav1.CreateOptions{})
	refused(t, err, "spec.version", "APIService v1.wardle.example.com (Service default/echo)")
	for _, gv := range []string{"apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1"} {
		_, err = w.client.ApiregistrationV1().APIServices().Create(t.Context(), newBackend(t, w, gv, echoHost).service(), metav1.CreateOptions{})
		refused(t, err, "spec.version", "is already served by this server")
	}
	bad := newBackend(t, w, "bad.example.com/v1", echoHost).service()
	for _, address := range []string{"http://127.0.0.1:1", "https://u:p@127.0.0.1:1", "https://127.0.0.1", "https://127.0.0.1:1/x", "https://127.0.0.1:1?x", "https://127.0.0.1:0", "%"} {
		bad.Annotations[aggregator.EndpointAnnotation] = address
		_, err = w.client.ApiregistrationV1().APIServices().Create(t.Context(), bad, metav1.CreateOptions{})
		refused(t, err, "metadata.annotations[docket.dev/endpoint]", "give https://host:port")
	}
	if owner, remote, ok := w.aggregator.Owner(schema.GroupVersion{Group: "wardle.example.com", Version: "v1"}); !remote || !ok || owner != "APIService v1.wardle.example.com (Service default/echo)" {
		t.Errorf("owner %q %v %v", owner, remote, ok)
	}
}

// mirrored waits until an APIService mirrors a group version of the cluster again.
func (w *world) mirrored(t *testing.T, name string) {
	t.Helper()
	testkit.Settles(t, func() string {
		service, err := w.client.ApiregistrationV1().APIServices().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || service.Spec.Service != nil {
			return name + " is not given back"
		}
		return ""
	})
}

// TestShadowing: in front of a cluster, a registration wins over what is mirrored, says so, and
// gives it back.
func TestShadowing(t *testing.T) {
	t.Parallel()
	cluster := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		const group = `{"metadata":{"name":"%s.example.com"},"versions":[{"version":"v1"}]}`
		_, _ = fmt.Fprintf(w, `{"items":[`+group+`,`+group+`]}`, "wardle", "marker") // A client that left fails the test itself.
	}))
	t.Cleanup(cluster.Close)
	w := newWorld(t, func(c *aggregator.Config) {
		c.Delegate = nil
		c.Upstream = &aggregator.Upstream{
			Config:   &rest.Config{Host: cluster.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}},
			Interval: time.Minute, Clock: clock.RealClock{},
		}
	})
	w.available(t, "v1.wardle.example.com", apiregistration.ConditionTrue)
	b := newBackend(t, w, "wardle.example.com/v1", echoHost)
	w.register(t, b)
	testkit.Settles(t, func() string {
		service, err := w.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.wardle.example.com", metav1.GetOptions{})
		testkit.NoError(t, err)
		c := helper.GetAPIServiceConditionByType(service, "Shadowing")
		if c == nil || c.Status != apiregistration.ConditionTrue || !strings.Contains(c.Message, "the upstream cluster") {
			return "no condition"
		}
		if code, body, _ := w.get(t, "/apis/"+b.gv+"/echo"); code != http.StatusOK {
			return body
		}
		return ""
	})
	// One that is taken for a moment only is back after a while. The other, which was taken before, would be, too.
	w.available(t, "v1.marker.example.com", apiregistration.ConditionTrue)
	w.register(t, newBackend(t, w, "marker.example.com/v1", echoHost))
	testkit.NoError(t, w.client.ApiregistrationV1().APIServices().Delete(t.Context(), "v1.marker.example.com", metav1.DeleteOptions{}))
	w.mirrored(t, "v1.marker.example.com")
	service, err := w.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.wardle.example.com", metav1.GetOptions{})
	testkit.NoError(t, err)
	if service.Spec.Service == nil {
		t.Fatal("the mirrored group version came back")
	}
	testkit.NoError(t, w.client.ApiregistrationV1().APIServices().Delete(t.Context(), service.Name, metav1.DeleteOptions{}))
	w.mirrored(t, service.Name)
	// An update of the mirrored APIService does the same.
	testkit.NoError(t, func() error {
		service, err := w.client.ApiregistrationV1().APIServices().Get(t.Context(), "v1.wardle.example.com", metav1.GetOptions{})
		testkit.NoError(t, err)
		service.Annotations, service.Spec = b.service().Annotations, b.service().Spec
		_, err = w.client.ApiregistrationV1().APIServices().Update(t.Context(), service, metav1.UpdateOptions{})
		return err
	}())
	testkit.Settles(t, func() string {
		if code, body, _ := w.get(t, "/apis/"+b.gv+"/echo"); code != http.StatusOK {
			return body
		}
		return ""
	})
}
