// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestReadSamples(t *testing.T) {
	for name, test := range map[string]struct {
		data string
		want []string
	}{
		"a document":                {"apiVersion: v1\nkind: A\n", []string{"v1 A"}},
		"JSON":                      {`{"apiVersion": "v1", "kind": "A"}`, []string{"v1 A"}},
		"YAML that looks like JSON": {`{apiVersion: v1, kind: A}`, []string{"v1 A"}},
		"documents":                 {"---\n# Nothing.\n---\napiVersion: v1\nkind: A\n---\n\n--- # B.\napiVersion: v1\nkind: B\n---\n", []string{"v1 A", "v1 B"}},
		"documents of JSON":         {"{\"apiVersion\": \"v1\",\n\t\"kind\": \"A\"}\n{\"apiVersion\": \"v1\", \"kind\": \"B\"}", []string{"v1 A", "v1 B"}},
		"both":                      {"{\"apiVersion\": \"v1\", \"kind\": \"A\"}\n---\napiVersion: v1\nkind: B\n", []string{"v1 A", "v1 B"}},
		"a list":                    {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: b/v1, kind: A}\n", []string{"v1 A", "b/v1 A"}},
		"a list of a kind":          {"apiVersion: b/v1\nkind: AList\nitems:\n- {apiVersion: b/v1, kind: A}\n", []string{"b/v1 A"}},
		"items of its own":          {"apiVersion: b/v1\nkind: Box\nitems: [1]\n", []string{"b/v1 Box"}},
		"versions of a kind":        {"apiVersion: b/v1\nkind: A\n---\napiVersion: b/v2\nkind: A\n", []string{"b/v1 A", "b/v2 A"}},
	} {
		objects, err := ReadSamples([]byte(test.data))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, object := range objects {
			got = append(got, object.GetAPIVersion()+" "+object.GetKind())
		}
		testkit.NoDiff(t, cmp.Diff(test.want, got), "%s", name)
	}
}

func TestReadSamplesKeepsIntegers(t *testing.T) {
	objects := testkit.Must(ReadSamples([]byte("apiVersion: v1\nkind: A\nspec: {a: 9007199254740993, b: 1.5, c: 2026-01-01, d: \"1\"}\n")))(t)
	want := map[string]any{"a": int64(9007199254740993), "b": 1.5, "c": "2026-01-01", "d": "1"}
	if diff := cmp.Diff(want, objects[0].Object["spec"]); diff != "" {
		t.Error(diff)
	}
}

func TestReadSamplesThatAreBad(t *testing.T) {
	for data, want := range map[string]string{
		"":            "there are no objects",
		"---\n# A.\n": "there are no objects",
		"kind: A":     "document 1: apiVersion is missing",
		"apiVersion: v1\nkind: A\n---\napiVersion: v1\n":                                        "document 2: kind is missing",
		"apiVersion: v1\nkind: 7\n":                                                             "document 1: kind is missing",
		"apiVersion: a/b/c\nkind: A\n":                                                          "document 1: apiVersion: ",
		"apiVersion: v1\nkind: A\n---\n[]\n":                                                    "document 2: expected an object, found an array",
		"apiVersion: v1\nkind: A\n---\na: [\n":                                                  "document 2: ",
		"apiVersion: v1\nkind: A\nkind: B\n":                                                    "document 1: ",
		`{"apiVersion": "v1", "kind": "A", "kind": "B"}`:                                        `document 1: duplicate field "kind"`,
		"apiVersion: v1\nkind: A\n--- x\n":                                                      "document 1: ",
		"apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: A\n":                               "document 2: it is of kind A (v1) as document 1 is, but there is one sample of a kind",
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A}\n- {apiVersion: v1}\n": "document 1, item 2: kind is missing",
		"apiVersion: v1\nkind: List\nitems: [x]\n":                                              "document 1, item 1: expected an object, found a string",
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: \"\"}]}]": "document 1, item 1, item 1: kind is missing",
		"apiVersion: v1\nkind: A\ndata: {a: " + strings.Repeat("x", maxSamples) + "}":                              fmt.Sprintf("the limit is %d", maxSamples),
	} {
		objects, err := ReadSamples([]byte(data))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100q: the error is %v, not %q (%d objects)", data, err, want, len(objects))
		}
	}
}

func FuzzReadSamples(f *testing.F) {
	f.Add([]byte("apiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: B, metadata: {labels: {a: 1}}}]\n"))
	f.Add([]byte(`{"apiVersion":"v1","kind":"A","metadata":7,"spec":{"a":[1,null,"x",1e400]}} {"apiVersion":"v1","kind":"B"}`))
	f.Add([]byte("a: &a [*a]\n--- # x\n? [b]\n: .nan\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := ReadSamples(data)
		if err == nil && len(objects) == 0 {
			t.Error("there are neither objects nor an error")
		}
		for _, object := range objects {
			maker := NewMaker(object.GroupVersionKind(), nil, object)
			if _, err := json.Marshal(maker.New().Object); err != nil {
				t.Error(err)
			}
			maker.ContentChanges(object)
			maker.StatusChanges(object)
		}
	})
}
