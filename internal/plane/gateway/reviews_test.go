// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestReviewsForExtensionServers: servers that run with the gateway's kubeconfig learn about
// its owner, though the owner has no right to such reviews, and about nobody else.
func TestReviewsForExtensionServers(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	cluster.allow = func(who authenticationv1.UserInfo, spec authorizationv1.SelfSubjectAccessReviewSpec) bool {
		return who.Username == "alice" && spec.ResourceAttributes != nil && spec.ResourceAttributes.Verb == "get"
	}
	g := start(t, cluster.config("alice-token"))
	client := kubernetes.NewForConfigOrDie(g.config(g.token))
	for name, test := range map[string]struct {
		user, verb string
		groups     []string
		want       bool
	}{
		"what the owner may":         {"alice", "get", []string{"dev"}, true},
		"what the owner may not":     {"alice", "delete", []string{"dev"}, false},
		"somebody else":              {"bob", "get", nil, false},
		"the owner in another group": {"alice", "get", []string{"system:masters"}, false},
		"the aggregator's probe":     {prober, "get", []string{"system:masters"}, true},
		"a name like the probe's":    {prober, "get", nil, false},
	} {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: test.user, Groups: test.groups, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: test.verb, Resource: "things", Group: "g"},
		}}
		got, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil || got.Status.Allowed != test.want {
			t.Errorf("%s: %+v, %v", name, got.Status, err)
		}
	}
	for token, want := range map[string]string{g.token: "alice", "bob-token": ""} {
		got, err := client.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
		if err != nil || got.Status.User.Username != want || got.Status.Authenticated != (want != "") {
			t.Errorf("%+v, %v", got.Status, err)
		}
	}
	wantStatus(t, g.do(http.MethodPost, accessReviewPath, "bob-token"), http.StatusUnauthorized)
	wantStatus(t, g.doWith(g.tls(), http.MethodPost, accessReviewPath, g.token, strings.NewReader("{")), http.StatusBadRequest)
	wantStatus(t, g.doWith(g.tls(), http.MethodPost, tokenReviewPath, g.token, strings.NewReader(strings.Repeat("x", maxReview+1))), http.StatusRequestEntityTooLarge)
}

// TestTrustOfExtensionServers: they read the gateway's front-proxy authority where they would
// read that of a cluster's aggregator: by get, and by the informer that keeps it.
func TestTrustOfExtensionServers(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("alice-token"))
	client := kubernetes.NewForConfigOrDie(g.config(g.token))
	check := func(config *corev1.ConfigMap) {
		t.Helper()
		var names []string
		if err := json.Unmarshal([]byte(config.Data["requestheader-allowed-names"]), &names); err != nil || len(names) != 1 || names[0] != proxyName {
			t.Errorf("names %q, %v", config.Data["requestheader-allowed-names"], err)
		}
		if config.Data["requestheader-client-ca-file"] != string(g.proxy.CA.CertificatePEM) {
			t.Error("the authority is another one")
		}
	}
	config := testkit.Must(client.CoreV1().ConfigMaps(trustNamespace).Get(t.Context(), trustName, metav1.GetOptions{}))(t)
	check(config)
	factory := informers.NewSharedInformerFactoryWithOptions(client, time.Hour, informers.WithNamespace(trustNamespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", trustName).String()
		}))
	informer := factory.Core().V1().ConfigMaps()
	stop := make(chan struct{})
	defer factory.Shutdown()
	defer close(stop)
	informer.Informer()
	factory.Start(stop)
	cache.WaitForCacheSync(stop, informer.Informer().HasSynced)
	config = testkit.Must(informer.Lister().ConfigMaps(trustNamespace).Get(trustName))(t)
	check(config)
	// Others are the cluster's.
	for _, path := range []string{trustFolder + "/other", trustFolder, trustFolder + "?fieldSelector=metadata.name%3Dother"} {
		if _, body := g.get(path, ""); !strings.Contains(body, "\"servedBy\":\"cluster\"") {
			t.Errorf("%s: %s", path, body)
		}
	}
}
