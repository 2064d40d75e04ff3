// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// gadget is a kind with what schemas may have.
func gadget() Kind {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	return Kind{Group: "example.com", Version: "v1", Kind: "Gadget", Resource: "gadgets", Namespaced: true, Schema: NewSchema(&apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"owner"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"owner": text, "count": {Type: "integer", Format: "int32"}, "on": {Type: "boolean"},
			"outcome": {Type: "string", Enum: []apiextensionsv1.JSON{{Raw: []byte(`"pass"`)}, {Raw: []byte(`"fail"`)}}},
			"tags":    {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &text}},
			"more":    {Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &text}},
		},
	})}
}

func TestSameSeedSameCase(t *testing.T) {
	t.Parallel()
	show := func(seed, number uint64) string {
		f := Finding{Case: NewCase(gadget(), seed, number)}
		f.Step = len(f.Case.Steps) - 1
		return f.String()
	}
	different := map[string]bool{}
	for number := range uint64(200) {
		first := show(1, number)
		if diff := cmp.Diff(first, show(1, number)); diff != "" {
			t.Fatalf("case %d is not the same again:\n%s", number, diff)
		}
		different[strings.SplitN(first, "\n", 2)[1]] = true
	}
	if len(different) < 190 {
		t.Errorf("%d of 200 cases differ", len(different))
	}
}

// TestCasesCover looks for what has to come up among a thousand cases.
func TestCasesCover(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for number := range uint64(2000) {
		f := Finding{Case: NewCase(gadget(), 7, number)}
		f.Step = len(f.Case.Steps) - 1
		all.WriteString(f.String())
	}
	for _, want := range []string{
		typeJSONPatch, typeMerge, typeStrategic, typeApply, typeYAML, "as=Table", "as=PartialObjectMetadata", "dryRun=All", "fieldValidation=Strict", "fieldValidation=Warn", "fieldValidation=Ignore",
		"force=true", "generateName", "preconditions", "propagationPolicy", "finalizers", "ownerReferences", "managedFields", "creationTimestamp", `\"tags\":[null`, `\"owner\":\"\"`, `\"owner\":null`, `\"count\":1.0`, "1e400",
		`\xff`, "/status", "/scale", "fieldSelector=", "labelSelector=", "limit=1", "resourceVersionMatch=Exact", oldMark, versionMark, uidMark, `\"count\":-0`, "DELETE /apis/example.com/v1/namespaces/@space@/gadgets?",
	} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("no case has %s", want)
		}
	}
}
