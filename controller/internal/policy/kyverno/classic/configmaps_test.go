// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"errors"
	"testing"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/controller/internal/policy/reach"
)

const settingsPath = "/api/v1/namespaces/team/configmaps/settings"

// TestConfigMapsOfCache: contexts with a ConfigMap make no requests while the cache has it.
func TestConfigMapsOfCache(t *testing.T) {
	t.Parallel()
	live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "settings"}, Data: map[string]string{"a": "live"}}
	cached := map[string]any{"metadata": map[string]any{"name": "settings", "namespace": "team"}, "data": map[string]any{"a": "cached"}}
	for name, test := range map[string]struct {
		entries  *enginetest.FakeEntries
		want     string
		requests int
		err      func(error) bool
	}{
		"cached":          {&enginetest.FakeEntries{Data: map[policy.Entry]any{{Path: settingsPath}: cached}}, "cached", 0, nil},
		"can't be cached": {&enginetest.FakeEntries{Failure: map[policy.Entry]error{{Path: settingsPath}: errors.New("watch is forbidden")}}, "live", 1, nil},
		"does not exist": {&enginetest.FakeEntries{Failure: map[policy.Entry]error{{Path: settingsPath}: apierrors.NewNotFound(corev1.Resource("configmaps"), "settings")}},
			"", 0, apierrors.IsNotFound},
	} {
		client := fake.NewClientset(live)
		ctx := reach.With(t.Context(), reach.Scope{Namespace: "team"})
		found, err := (&configMaps{client: client, entries: test.entries}).Get(ctx, "team", "settings")
		switch {
		case test.err != nil:
			if !test.err(err) {
				t.Errorf("%s: %v", name, err)
			}
		case err != nil || found.Data["a"] != test.want || found.Name != "settings":
			t.Errorf("%s: %v, %v", name, found, err)
		}
		if n := len(client.Actions()); n != test.requests {
			t.Errorf("%s: %d requests", name, n)
		}
		if n := len(test.entries.Queries); n != 1 || test.entries.Queries[0].Namespace != "team" {
			t.Errorf("%s: queries %v", name, test.entries.Queries)
		}
	}
}

// TestConfigMapsAreEntries: a change of a ConfigMap whose name has no variables causes new evaluations.
func TestConfigMapsAreEntries(t *testing.T) {
	t.Parallel()
	rule := kyvernov1.Rule{Context: []kyvernov1.ContextEntry{
		{Name: "a", ConfigMap: &kyvernov1.ConfigMapReference{Name: "settings", Namespace: "team"}},
		{Name: "b", ConfigMap: &kyvernov1.ConfigMapReference{Name: "{{request.name}}", Namespace: "team"}},
		{Name: "c", ConfigMap: &kyvernov1.ConfigMapReference{Name: "of-the-policy"}},
	}}
	if got := entriesOf([]kyvernov1.Rule{rule}); len(got) != 1 || got[0] != (policy.Entry{Path: settingsPath}) {
		t.Errorf("%v", got)
	}
}
