// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"encoding/json"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apischema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/results/mapping"
)

// scan is an object of Trivy, as a mapping reads it.
type scan struct{ *unstructured.Unstructured }

func (s scan) Body() []byte {
	data, err := json.Marshal(map[string]any{"report": s.Object["report"]})
	if err != nil {
		panic(err)
	}
	return data
}

// mapped returns the results of an object of Trivy.
func mapped(t *testing.T, object *unstructured.Unstructured) []map[string]any {
	t.Helper()
	report := testkit.Must(mapping.Load())(t).Of(object.GroupVersionKind().GroupKind()).Report(scan{object})
	var all []map[string]any
	testkit.NoError(t, json.Unmarshal(testkit.Must(json.Marshal(report.GetResults()))(t), &all))
	for i := range all {
		all[i]["source"] = report.GetSource()
	}
	return all
}

// TestTrivy: each kind that has results is defined, the objects are what the definitions ask for, and their results
// say how to mend what fails, and are about the workload.
func TestTrivy(t *testing.T) {
	t.Parallel()
	validators := map[string]validation.SchemaValidator{}
	for document := range strings.SplitSeq(string(TrivyDefinitions()), "\n---\n") {
		var definition apiextensionsv1.CustomResourceDefinition
		testkit.NoError(t, yaml.UnmarshalStrict([]byte(document), &definition))
		var internal apiextensions.JSONSchemaProps
		testkit.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(definition.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil))
		structural := testkit.Must(apischema.NewStructural(&internal))(t)
		if errs := apischema.ValidateStructural(nil, structural); len(errs) > 0 {
			t.Errorf("%s: %v", definition.Name, errs)
		}
		validators[definition.Spec.Names.Kind], _ = testkit.Must2(validation.NewSchemaValidator(&internal))(t)
	}
	for _, kind := range testkit.Must(mapping.Load())(t).Kinds() {
		if validators[kind.Kind] == nil {
			t.Errorf("%s is not defined", kind.Kind)
		}
	}
	outcomes := map[any]bool{}
	for object := range testCluster().Reports(100) {
		if object.GroupVersionKind().Group != TrivyGroup {
			continue
		}
		if errs := validation.ValidateCustomResource(nil, object.Object, validators[object.GetKind()]); len(errs) > 0 {
			t.Errorf("%s: %v", object.GetName(), errs)
		}
		failed := int64(0)
		for _, result := range mapped(t, object) {
			outcomes[result["result"]] = true
			if result["result"] == "fail" && object.GetKind() == "VulnerabilityReport" {
				failed++
			}
			properties, _ := result["properties"].(map[string]any)
			if properties["fixedVersion"] == nil && properties["remediation"] == nil {
				t.Errorf("%s: what to do against %v?", object.GetName(), result)
			}
		}
		counts, _ := testkit.Must2(unstructured.NestedMap(object.Object, "report", "summary"))(t)
		if object.GetKind() == "VulnerabilityReport" && counts["criticalCount"].(int64)+counts["highCount"].(int64) != failed {
			t.Errorf("%s: %d failures, and the summary is %v", object.GetName(), failed, counts)
		}
	}
	if !outcomes["fail"] || !outcomes["warn"] {
		t.Errorf("there are only the outcomes %v", outcomes)
	}
}
