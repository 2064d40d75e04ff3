// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestValueText(t *testing.T) {
	t.Parallel()
	twice := Object("a", "b")
	twice.Add("a", Literal("1.0"))
	for _, test := range []struct {
		value *Value
		want  string
	}{
		{must(`{"b":[1.0,1e3,null,{}],"a":"x"}`), `{"a":"x","b":[1.0,1e3,null,{}]}`},
		{twice, `{"a":"b","a":1.0}`},
		{Array(String("\xff\"\n")), "[\"\xff\\\"\\u000a\"]"},
	} {
		if got := test.value.Text(); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

const definition = `# A comment.
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, kind: Gadget}
  versions:
  - {name: v0, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}}
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, required: [spec]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: x}
`

func TestReadDefinitions(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	testkit.NoError(t, os.MkdirAll(filepath.Join(folder, "deep"), 0o700))
	testkit.NoError(t, os.WriteFile(filepath.Join(folder, "deep", "gadgets.yaml"), []byte(definition), 0o600))
	found, err := ReadDefinitions([]string{"example.com"}, folder)
	if err != nil || len(found) != 1 {
		t.Fatalf("%d definitions, %v", len(found), err)
	}
	kinds, err := KindsOf(found[0])
	if err != nil || len(kinds) != 2 || kinds[1].APIVersion() != "example.com/v1" || kinds[1].Resource != "gadgets" || !kinds[1].Namespaced || len(kinds[1].Schema.Required) != 1 {
		t.Errorf("%+v, %v", kinds, err)
	}
	if others := kinds[1].Others; len(others) != 1 || others[0].Version != "v0" {
		t.Errorf("the other versions of %s are %+v", kinds[1].APIVersion(), others)
	}
	if _, err := ReadDefinitions([]string{"other.example.com"}, folder); err == nil {
		t.Error("no error though no definition is of the group")
	}
}
