// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator_test

import (
	"net/http"
	"net/url"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/aggregator"
)

// TestProxyCertificateIsReadAgain: new requests show the new certificate, without a restart.
func TestProxyCertificateIsReadAgain(t *testing.T) {
	t.Parallel()
	var certFile, keyFile string
	w := newWorld(t, func(c *aggregator.Config) { certFile, keyFile = c.ProxyCertFile, c.ProxyKeyFile })
	b := w.serving(t, "wardle.example.com/v1")
	b.mux.HandleFunc("/apis/"+b.gv+"/who", func(rw http.ResponseWriter, r *http.Request) {
		_, _ = rw.Write([]byte(r.TLS.PeerCertificates[0].Subject.CommonName))
	})
	if _, body, _ := w.get(t, "/apis/"+b.gv+"/who"); body != "docket-proxy" {
		t.Fatalf("the server sees %q", body)
	}
	pair, err := certificate.NewClient(w.authority, "another-proxy", time.Now(), time.Hour)
	testkit.NoError(t, err)
	testkit.NoError(t, os.WriteFile(keyFile, pair.KeyPEM, 0o600))
	testkit.NoError(t, os.WriteFile(certFile, pair.CertificatePEM, 0o600))
	testkit.Settles(t, func() string {
		_, body, _ := w.get(t, "/apis/"+b.gv+"/who")
		if body != "another-proxy" {
			return "the server sees " + body
		}
		return ""
	})
}

// TestServiceComesLater: a server is found by its Service object, and checked when there
// is one.
func TestServiceComesLater(t *testing.T) {
	t.Parallel()
	kubernetes := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(kubernetes, 0)
	services := factory.Core().V1().Services()
	w := newWorld(t, func(c *aggregator.Config) {
		c.Services = services
		c.Resolver = aggregator.NewResolver(aggregator.ResolverConfig{Services: services.Lister()})
	})
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	b := newBackend(t, w, "wardle.example.com/v1", echoHost)
	at, err := url.Parse(b.URL)
	testkit.NoError(t, err)
	port, err := strconv.ParseInt(at.Port(), 10, 32)
	testkit.NoError(t, err)
	number := int32(port)
	service := b.service()
	service.Annotations, service.Spec.Service.Port = nil, &number
	_, err = w.client.ApiregistrationV1().APIServices().Create(t.Context(), service, metav1.CreateOptions{})
	testkit.NoError(t, err)
	if text := w.available(t, service.Name, apiregistration.ConditionFalse); text[:15] != "ServiceNotFound" {
		t.Errorf("%s", text)
	}
	w.unavailable(t, b.gv, "service/echo")
	_, err = kubernetes.CoreV1().Services("default").Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "echo"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "127.0.0.1"},
	}, metav1.CreateOptions{})
	testkit.NoError(t, err)
	w.available(t, service.Name, apiregistration.ConditionTrue)
	if code, body, _ := w.get(t, "/apis/"+b.gv+"/echo"); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
}
