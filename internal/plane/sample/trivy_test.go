// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sample_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apischema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/results/mapping"
)

// scan is an object of Trivy, as a mapping reads it.
type scan struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Report json.RawMessage `json:"report"`
}

func (s *scan) DeepCopyObject() runtime.Object { c := *s; return &c }
func (s *scan) Body() []byte                   { return []byte(`{"report":` + string(s.Report) + `}`) }

func documents(t *testing.T, file string) []string {
	t.Helper()
	return strings.Split(string(testkit.Must(os.ReadFile(file))(t)), "\n---\n")
}

// TestTrivy: each kind that has results is defined, the objects are what the definitions ask for, and their results
// say how to mend what fails.
func TestTrivy(t *testing.T) {
	t.Parallel()
	set := testkit.Must(mapping.Load())(t)
	validators := map[string]validation.SchemaValidator{}
	for _, document := range documents(t, "trivy/definitions.yaml") {
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
	for _, kind := range set.Kinds() {
		if validators[kind.Kind] == nil {
			t.Errorf("%s is not defined", kind.Kind)
		}
	}
	var all report.Counts
	fixed := 0
	for _, document := range documents(t, "trivy/reports.yaml") {
		var object scan
		var tree any
		testkit.NoError(t, yaml.UnmarshalStrict([]byte(document), &object))
		testkit.NoError(t, yaml.Unmarshal([]byte(document), &tree))
		if errs := validation.ValidateCustomResource(nil, tree, validators[object.Kind]); len(errs) > 0 {
			t.Errorf("%s: %v", object.Name, errs)
		}
		for _, result := range set.Of(object.GroupVersionKind().GroupKind()).Report(&object).GetResults() {
			all.Add(result.Result)
			if result.Properties["fixedVersion"] != "" || result.Properties["remediation"] != "" {
				fixed++
			}
		}
	}
	if want := (report.Counts{Pass: 1, Fail: 9, Warn: 3, Skip: 1}); all != want || fixed != 10 {
		t.Errorf("results are %+v, %d of them with what to do; want %+v and 10", all, fixed, want)
	}
}
