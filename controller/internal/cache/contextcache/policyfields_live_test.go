// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestPoliciesWithoutTheFields: the definition that is served is looked at once it appears.
func TestPoliciesWithoutTheFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.cache(t)
	kind := customKind("kyverno.io", "ClusterPolicy", "clusterpolicies", "Cluster", "v1")
	versions, _ := testkit.Must2(unstructured.NestedSlice(kind.Object, "spec", "versions"))(t)
	version, _ := versions[0].(map[string]any)
	version["schema"] = map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
		"spec": map[string]any{"type": "object", "properties": map[string]any{"rules": map[string]any{"type": "array", "items": map[string]any{"type": "object"}}}},
	}}}
	testkit.NoError(t, unstructured.SetNestedSlice(kind.Object, versions, "spec", "versions"))
	w.create(t, crds, kind)
	eventually(t, func() error {
		if count := w.metric(t, "dropped_fields"); count != 3 {
			return fmt.Errorf("%v fields are dropped", count)
		}
		return nil
	})
}
