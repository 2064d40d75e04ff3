// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/registration"
)

const apiService = ours + "." + group

// pointing is an APIService that points to a Service and trusts a bundle.
func pointing(service string, bundle []byte, annotations map[string]string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": apiService},
		"spec": map[string]any{"service": map[string]any{"namespace": "docket-system", "name": service}},
	}}
	if bundle != nil {
		_ = unstructured.SetNestedField(object.Object, base64.StdEncoding.EncodeToString(bundle), "spec", "caBundle")
	}
	object.SetAnnotations(annotations)
	return object
}

func newAuthority(t *testing.T, name string, lifetime time.Duration) *certificate.Pair {
	t.Helper()
	return testkit.Must(certificate.NewAuthority(name, time.Now(), lifetime))(t)
}

// TestTrust: what an APIService trusts after an authority of ours was put there.
func TestTrust(t *testing.T) {
	t.Parallel()
	authority, before, other := newAuthority(t, "docket serve 2", time.Hour), newAuthority(t, "docket serve 1", time.Hour), newAuthority(t, "theirs", time.Hour)
	ended := newAuthority(t, "theirs, ended", time.Second)
	text := func(all ...*certificate.Pair) []byte {
		var joined []byte
		for _, pair := range all {
			joined = append(joined, pair.CertificatePEM...)
		}
		return joined
	}
	fails := func(err error) func(*fake.FakeDynamicClient) {
		return func(client *fake.FakeDynamicClient) {
			client.PrependReactor("patch", "apiservices", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
		}
	}
	resource := schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"}
	for name, test := range map[string]struct {
		object  *unstructured.Unstructured
		change  func(*fake.FakeDynamicClient)
		want    []byte
		trusted bool
		err     string
	}{
		"none":               {trusted: true},
		"without":            {object: pointing("docket", nil, nil), want: text(authority), trusted: true},
		"the same":           {object: pointing("docket", text(authority), nil), change: fails(errors.New("needless")), want: text(authority), trusted: true},
		"an older one":       {object: pointing("docket", text(before), nil), want: text(authority), trusted: true},
		"those of others":    {object: pointing("docket", text(ended, other), nil), want: text(other, authority), trusted: true},
		"garbage":            {object: pointing("docket", []byte("x"), nil), want: text(authority), trusted: true},
		"of another Service": {object: pointing("theirs", text(other), nil), want: text(other), trusted: true},
		"cert-manager":       {object: pointing("docket", text(other), map[string]string{"cert-manager.io/inject-ca-from": "x"}), want: text(other), err: "cert-manager writes it, too"},
		"forbidden": {
			object: pointing("docket", text(other), nil), change: fails(apierrors.NewForbidden(resource, apiService, errors.New("RBAC"))),
			want: text(other), err: "caBundle of the APIService " + apiService,
		},
		"another was first": {object: pointing("docket", text(other), nil), change: fails(apierrors.NewConflict(resource, apiService, errors.New("changed"))), want: text(other)},
	} {
		var objects []runtime.Object
		if test.object != nil {
			objects = append(objects, test.object)
		}
		client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{resource.WithVersion("v1"): "APIServiceList"}, objects...)
		if test.change != nil {
			test.change(client)
		}
		trust := registration.NewTrust(registration.TrustConfig{
			Client: client, APIServices: func() []string { return []string{apiService} }, Namespace: "docket-system", Service: "docket", Authority: "docket serve",
		})
		err := trust.Put(t.Context(), text(authority), time.Now().Add(time.Minute))
		if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: error %v, want %q", name, err, test.err)
		}
		if trusted, err := trust.Trusted(t.Context(), authority.Certificate); err != nil || trusted != test.trusted {
			t.Errorf("%s: trusted %v, %v", name, trusted, err)
		}
		if test.object == nil {
			continue
		}
		got := testkit.Must(client.Resource(resource.WithVersion("v1")).Get(t.Context(), apiService, metav1.GetOptions{}))(t)
		bundle, _, _ := unstructured.NestedString(got.Object, "spec", "caBundle")
		if bundle != base64.StdEncoding.EncodeToString(test.want) {
			t.Errorf("%s: another bundle than expected", name)
		}
	}
}
