// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package authtrust

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestPublish: the ConfigMap has what Kubernetes' library looks for, follows changes,
// keeps the keys of others, and is not written when nothing is new.
func TestPublish(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset()
	publish := func(trust Trust) map[string]string {
		t.Helper()
		testkit.NoError(t, Publish(t.Context(), client, trust))
		have := testkit.Must(client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), Name, metav1.GetOptions{}))(t)
		return have.Data
	}
	want := map[string]string{
		"client-ca-file": "users", "requestheader-client-ca-file": "proxy", "requestheader-allowed-names": `["a","b"]`,
		"requestheader-username-headers": `["X-Remote-User"]`, "requestheader-uid-headers": `["X-Remote-Uid"]`,
		"requestheader-group-headers": `["X-Remote-Group"]`, "requestheader-extra-headers-prefix": `["X-Remote-Extra-"]`,
	}
	first := Trust{ProxyCA: []byte("proxy"), ProxyNames: []string{"a", "b"}, ClientCA: []byte("users")}
	if got := publish(first); !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	writes := len(client.Actions())
	publish(first)
	for _, action := range client.Actions()[writes:] {
		if action.GetVerb() != "get" {
			t.Errorf("publishing the same again was a %s", action.GetVerb())
		}
	}
	have := testkit.Must(client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), Name, metav1.GetOptions{}))(t)
	have.Data["other"] = "kept"
	testkit.Must(client.CoreV1().ConfigMaps("kube-system").Update(t.Context(), have, metav1.UpdateOptions{}))(t)
	want["other"], want["requestheader-client-ca-file"], want["requestheader-allowed-names"] = "kept", "new", "[]"
	delete(want, "client-ca-file")
	if got := publish(Trust{ProxyCA: []byte("new")}); !equality.Semantic.DeepEqual(got, want) {
		t.Errorf("after a change: got %v, want %v", got, want)
	}
}
