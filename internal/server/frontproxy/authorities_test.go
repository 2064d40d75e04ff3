// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package frontproxy_test

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/frontproxy"
)

// TestAwaited: a server that is about to listen has the authorities that the cluster's ConfigMap has.
func TestAwaited(t *testing.T) {
	t.Parallel()
	front := authority(t)
	client := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication"},
		Data:       map[string]string{"front": string(front.CertificatePEM)},
	})
	provider := testkit.Must(dynamiccertificates.NewDynamicCAFromConfigMapController("front", "kube-system", "extension-apiserver-authentication", "front", client))(t)
	users := static(authority(t))
	all := frontproxy.Awaited(dynamiccertificates.NewUnionCAContentProvider(users, provider), provider)
	runner, ok := all.(dynamiccertificates.ControllerRunner)
	if !ok {
		t.Fatalf("a %T is not followed", all)
	}
	testkit.NoError(t, runner.RunOnce(t.Context()))
	for _, want := range [][]byte{users.CurrentCABundleContent(), front.CertificatePEM} {
		if !bytes.Contains(all.CurrentCABundleContent(), bytes.TrimSpace(want)) {
			t.Errorf("the server trusts\n%s\nwhich lacks\n%s", all.CurrentCABundleContent(), want)
		}
	}
}
