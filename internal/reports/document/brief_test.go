// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	reportschema "github.com/docket-project/docket/internal/reports/schema"
)

// FuzzReadBriefly: what is read briefly says what the whole report says, of whatever form that is.
func FuzzReadBriefly(f *testing.F) {
	const head = `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"a","resourceVersion":"7","creationTimestamp":"2026-01-02T03:04:05Z"`
	for _, rest := range []string{
		`,"labels":{"a":"b<"},"managedFields":[{"manager":"x","fieldsV1":{"f:a":{}}}]},"results":[{"policy":"}]\"","source":"c"},{}],"scope":{"kind":"Pod"},"summary":{"pass":1}}`,
		`,"managedFields":7},"summary":{"pass":1}}`,
		`,"annotations":{"a":1}},"summary":{"pass":1}}`,
		`}}`,
		`},"summary":{"fail":3}}`,
		`},"summary":{"fail":"3"}}`,
		`},"results":[{"source":5}],"summary":{"fail":3}}`,
		`},"results":[{"source":null}],"summary":{"fail":3}}`,
		`},"results":[null],"summary":{"fail":3}}`,
		`},"results":{},"summary":{"fail":3}}`,
		`},"results":null,"scope":7}`,
		`},"results":[{"policy":"a","policy":"b"}],"summary":{"fail":3}}`,
		`},"results":[{"policy":"\ud800"}],"summary":{"fail":3}}`,
		"},\"results\":[{\"policy\":\"\xff\"}],\"summary\":{\"fail\":3}}",
		"},\"results\":[{\"policy\":\"\n\"}],\"summary\":{\"fail\":3}}",
		`},"results":[{"policy":"a"],"summary":{"fail":3}}`,
		`},"results":[{"policy":01}],"summary":{"fail":3}}`,
		`},"results":[],"results":[],"summary":{"fail":3}}`,
		`},"configuration":{"limits":{"maxResults":5}},"results":[]}`,
		`},"results": [ ], "summary":{"fail":3} }`,
		`},"spec":{"owner":{"kind":"Pod","name":"p"},"results":[{"source":"x"}],"summary":{"warn":2}}}`,
		`},"spec":{"results":[]}}`,
		`},"spec":{"results":[{"source":"x"}]},"summary":{"warn":2}}`,
		`},"metadata":{"name":"b"},"summary":{"warn":2}}`,
		`},"summary":{"warn":2}`,
		`},"summary":{"warn":2}}}`,
		`}`, ``,
	} {
		f.Add([]byte(head + rest))
	}
	keep := reportschema.CompilePaths([]string{".scope.kind", ".summary", ".spec.summary.warn", ".metadata.labels['a']"})
	f.Fuzz(func(t *testing.T, served []byte) {
		whole := New(policyReports())
		if _, _, err := testCodec().Decode(bytes.Clone(served), nil, whole); err != nil {
			// What nobody reads briefly may be of any form: reports as they are stored are served without a look at it.
			return
		}
		read, err := policyReports().ReadBriefly(served, keep)
		if err != nil {
			t.Fatalf("%s can be read: %v", served, err)
		}
		all, err := whole.content()
		if err != nil {
			return
		}
		tree, err := read.Tree()
		if err != nil {
			return // Of what no server stored.
		}
		for _, path := range [][]string{{"scope", "kind"}, {"summary"}, {"spec", "summary", "warn"}, {"metadata", "labels"}, {"metadata", "name"}} {
			want, _, _ := unstructured.NestedFieldNoCopy(all, path...)
			got, _, _ := unstructured.NestedFieldNoCopy(tree, path...)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%v of %s (-whole +brief):\n%s", path, served, diff)
			}
		}
		again, err := policyReports().ReadMetadata(served)
		if err != nil || !bytes.Equal(again, read.Metadata) {
			t.Fatalf("the metadata of %s is %s, %v", served, again, err)
		}
		var meta struct{ Name string }
		if err := stdjson.Unmarshal(read.Metadata, &meta); err != nil || meta.Name != whole.Name {
			t.Fatalf("the metadata of %s is %s, %v", served, read.Metadata, err)
		}
	})
}
