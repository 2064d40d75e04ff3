// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/api/report"
	kyverno "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
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
	f.Fuzz(func(t *testing.T, served []byte) {
		compareBrief[wgpolicy.PolicyReport](t, served)
		compareBrief[kyverno.EphemeralReport](t, served)
	})
}

// shown is what lines about a report are made of.
type shown struct {
	Name, Namespace, Version string
	Labels, Annotations      map[string]string
	Created                  string
	Scope                    *report.ObjectReference
	Summary                  *report.Summary
}

func show(r report.Accessor) shown {
	return shown{
		r.GetName(), r.GetNamespace(), r.GetResourceVersion(), r.GetLabels(), r.GetAnnotations(),
		r.GetCreationTimestamp().String(), r.GetScope(), r.GetSummary(),
	}
}

func compareBrief[T any, P View[T]](t *testing.T, served []byte) {
	t.Helper()
	whole := New[T, P]()
	_, _, wantErr := codec{}.Decode(bytes.Clone(served), nil, whole)
	read := New[T, P]()
	metadata, err := read.ReadBriefly(served)
	if wantErr != nil {
		// What nobody reads briefly may be of any form: reports as they are stored are served without a look at it.
		return
	}
	if err != nil {
		t.Fatalf("%s can be read: %v", served, err)
	}
	if diff := cmp.Diff(show(whole), show(read)); diff != "" {
		t.Fatalf("%s (-whole +brief):\n%s", served, diff)
	}
	if !stdjson.Valid(metadata) {
		t.Fatalf("the metadata is %s", metadata)
	}
	only := New[T, P]()
	again, err := only.ReadMetadata(served)
	if err != nil || !stdjson.Valid(again) || only.GetName() != whole.GetName() {
		t.Fatalf("the metadata of %s is %s, %v", served, again, err)
	}
}
