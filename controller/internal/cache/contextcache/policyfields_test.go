// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestFieldsThatAnAPIDrops promises the fields that a schema does not have. Kyverno's has no such field.
func TestFieldsThatAnAPIDrops(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		context string
		want    []string
	}{
		{`{"items":{"properties":{"name":{},"apiCall":{"properties":{"urlPath":{}}},"globalReference":{}}}}`, []string{"apiCall.cache", "cachedContextEntry", "resourceCache"}},
		{`{"items":{"properties":{"apiCall":{"properties":{"cache":{}}},"cachedContextEntry":{}}}}`, []string{"resourceCache"}},
		{`{"items":{"properties":{"apiCall":{"x-kubernetes-preserve-unknown-fields":true}}}}`, []string{"cachedContextEntry", "resourceCache"}},
		{`{"items":{"x-kubernetes-preserve-unknown-fields":true}}`, nil},
		{`{"items":{"properties":{"apiCall":{"properties":{"urlPath":{}}}},"x-kubernetes-preserve-unknown-fields":true}}`, []string{"apiCall.cache"}},
	} {
		got, err := droppedFields(fmt.Appendf(nil, `{"components":{"schemas":{"io.kyverno.v1.ClusterPolicyList":{},"io.kyverno.v1.ClusterPolicy":
			{"properties":{"spec":{"properties":{"rules":{"items":{"properties":{"context":%s}}}}}}}}}}`, test.context))
		if err != nil {
			t.Errorf("%s: %v", test.context, err)
		}
		testkit.NoDiff(t, cmp.Diff(test.want, got), "%s (-want +got)", test.context)
	}
	got, err := droppedFields([]byte(`{"components":{"schemas":{"io.kyverno.v1.ClusterPolicy":{"properties":{"spec":{"x-kubernetes-preserve-unknown-fields":true}}}}}}`))
	if err != nil || len(got) != 0 {
		t.Errorf("a schema that keeps all: %v, %v", got, err)
	}
	text := testkit.Must(os.ReadFile("../../../../deploy/chart/controller/crds/clusterpolicies.yaml"))(t)
	var ours apiextensionsv1.CustomResourceDefinition
	testkit.NoError(t, yaml.Unmarshal(text, &ours))
	document := testkit.Must(json.Marshal(map[string]any{"components": map[string]any{"schemas": map[string]any{
		"io.kyverno.v1.ClusterPolicy": ours.Spec.Versions[0].Schema.OpenAPIV3Schema,
	}}}))(t)
	if got, err := droppedFields(document); err != nil || len(got) != 0 {
		t.Errorf("our own definition: %v, %v", got, err)
	}
	for _, document := range []string{`{}`, `<html>`} {
		if _, err := droppedFields([]byte(document)); err == nil {
			t.Errorf("%s: no error", document)
		}
	}
}
