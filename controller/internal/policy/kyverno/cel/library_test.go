// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package cel

import (
	"errors"
	"testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/enginetest"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestObjectsOfLibraryAreCached: numbers have the same types as in a request, since CEL distinguishes integers.
func TestObjectsOfLibraryAreCached(t *testing.T) {
	t.Parallel()
	entries := &enginetest.FakeEntries{Data: map[policy.Entry]any{{Path: "/apis/apps/v1/namespaces/team/deployments/web"}: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"}, "spec": map[string]any{"replicas": float64(3), "share": 0.5},
	}}}
	found := testkit.Must(newLibrary(nil, nil, entries, nil).cached(t.Context(), "apps/v1", "deployments", "team", "web"))(t)
	spec, _ := found.Object["spec"].(map[string]any)
	if spec["replicas"] != int64(3) || spec["share"] != 0.5 {
		t.Errorf("%#v", spec)
	}
	if _, err := newLibrary(nil, nil, entries, nil).cached(t.Context(), "apps/v1", "deployments", "team", "other"); !errors.Is(err, base.ErrNotCached) {
		t.Errorf("an entry that can't be read: %v", err)
	}
}
