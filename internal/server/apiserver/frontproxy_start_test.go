// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestFirstRequestFromFrontProxy: the first request that a cluster sends to a server which has just started is its
// user's, however long the cluster takes to say whom to trust. That of an anonymous user would be refused.
func TestFirstRequestFromFrontProxy(t *testing.T) {
	t.Parallel()
	authority := testkit.Must(certificate.NewAuthority("front", time.Now(), time.Hour))(t)
	proxy := testkit.Must(certificate.NewClient(authority, "front-proxy-client", time.Now(), time.Hour))(t)
	trust := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "extension-apiserver-authentication", ResourceVersion: "5"},
		Data: map[string]string{
			"requestheader-client-ca-file": string(authority.CertificatePEM), "requestheader-allowed-names": `["front-proxy-client"]`,
			"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-group-headers": `["X-Remote-Group"]`,
			"requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
		},
	}
	const path = "/api/v1/namespaces/kube-system/configmaps"
	cluster := newestCluster()
	cluster.extra = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == path+"/"+trust.Name:
			reply(w, trust)
		case r.URL.Path != path:
			return false
		case r.URL.Query().Get("sendInitialEvents") == "true":
			http.Error(w, "a list is enough", http.StatusBadRequest)
		case r.URL.Query().Get("watch") != "":
			<-r.Context().Done()
		default:
			slow, cancel := context.WithTimeout(r.Context(), 300*time.Millisecond) // The server listens meanwhile.
			defer cancel()
			<-slow.Done()
			reply(w, &corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []corev1.ConfigMap{*trust}})
		}
		return true
	}
	options := clusterOptions(t, cluster.start(t))
	options.Authentication.SkipInClusterLookup = false
	options.Authentication.RemoteKubeConfigFile = options.CoreAPI.CoreAPIKubeconfigPath
	config := testkit.Must(options.Complete().Config(t.Context()))(t)
	completed := testkit.Must(config.Complete())(t)
	s := runUnready(t, testkit.Must(completed.New(t.Context()))(t))

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true,
		Certificates:       []tls.Certificate{{Certificate: [][]byte{proxy.Certificate.Raw}, PrivateKey: proxy.Key}},
	}}}
	t.Cleanup(client.CloseIdleConnections)
	request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.config.Host+reportsPath("ns", ""), nil))(t)
	request.Header.Set("X-Remote-User", "bob")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the first request: %s", response.Status)
	}
}
