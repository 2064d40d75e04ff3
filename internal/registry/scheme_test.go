// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"math/rand"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	scheme := newTestScheme(t)
	codecs := NewCodecs(scheme)
	filler := fuzzer.FuzzerFor(metafuzzer.Funcs, rand.NewSource(1), codecs)
	roundtrip.RoundTripTypesWithoutProtobuf(t, scheme, codecs, filler, nil)
}

func TestSchemeKnowsEachKind(t *testing.T) {
	t.Parallel()
	scheme := newTestScheme(t)
	for _, kind := range Kinds() {
		for gvk, object := range map[schema.GroupVersionKind]runtime.Object{
			kind.GroupVersionKind: kind.New(), kind.ListKind(): kind.NewList(),
		} {
			kinds, unversioned, err := scheme.ObjectKinds(object)
			if err != nil {
				t.Fatalf("%s: %v", gvk, err)
			}
			internal := gvk.GroupKind().WithVersion(runtime.APIVersionInternal)
			// The served version comes first: errors and events name the first one.
			if diff := cmp.Diff([]schema.GroupVersionKind{gvk, internal}, kinds); diff != "" {
				t.Errorf("kinds of %T (-want +got):\n%s", object, diff)
			}
			if unversioned {
				t.Errorf("%s is registered as unversioned", gvk)
			}
		}
		if got := scheme.PrioritizedVersionsForGroup(kind.GroupVersionKind.Group); len(got) != 1 || got[0] != kind.GroupVersion() {
			t.Errorf("versions of %s are %v, want only %s", kind.GroupVersionKind.Group, got, kind.GroupVersion())
		}
	}
}

// TestInternalVersionIsNotPublished: see NewDefinitionNamer.
func TestInternalVersionIsNotPublished(t *testing.T) {
	t.Parallel()
	namer, err := NewDefinitionNamer()
	if err != nil {
		t.Fatal(err)
	}
	_, extensions := namer.GetDefinitionName("io.wgpolicyk8s.v1alpha2.PolicyReport")
	want := []any{map[string]any{"group": "wgpolicyk8s.io", "version": "v1alpha2", "kind": "PolicyReport"}}
	if diff := cmp.Diff(want, extensions["x-kubernetes-group-version-kind"]); diff != "" {
		t.Errorf("published kinds (-want +got):\n%s", diff)
	}
}

// TestDocumentsAreKept: what a client left out stays out, and a zero that it wrote
// stays, also when the object goes through decoding and encoding.
func TestDocumentsAreKept(t *testing.T) {
	t.Parallel()
	const meta = `"metadata":{"name":"x","namespace":"a"}`
	for name, document := range map[string]string{
		"policy report, least":        `{"kind":"PolicyReport","apiVersion":"wgpolicyk8s.io/v1alpha2",` + meta + `}`,
		"policy report, part summary": `{"kind":"PolicyReport","apiVersion":"wgpolicyk8s.io/v1alpha2",` + meta + `,"summary":{"pass":0}}`,
		"policy report, empty lists": `{"kind":"PolicyReport","apiVersion":"wgpolicyk8s.io/v1alpha2",` + meta +
			`,"results":[]}`,
		"policy report, results": `{"kind":"PolicyReport","apiVersion":"wgpolicyk8s.io/v1alpha2",` + meta +
			`,"scope":{"kind":"Pod","namespace":"a","name":"w","uid":"u","apiVersion":"v1","resourceVersion":"1","fieldPath":"spec"}` +
			`,"scopeSelector":{"matchLabels":{"a":"b"}}` +
			`,"summary":{"pass":1,"fail":0,"warn":0,"error":0,"skip":0}` +
			`,"results":[{"policy":"p"},{"source":"","policy":"p","rule":"r","category":"c","severity":"low"` +
			`,"timestamp":{"seconds":0,"nanos":0},"result":"skip","scored":false,"resources":[{"kind":"Pod"}]` +
			`,"resourceSelector":{"matchExpressions":[{"key":"k","operator":"Exists"}]},"message":"m","properties":{"x":""}}]}`,
		"report": `{"kind":"Report","apiVersion":"openreports.io/v1alpha1",` + meta +
			`,"source":"","configuration":{"limits":{"maxResults":0,"statusFilter":["pass"]}},"results":[{"policy":"p","properties":{}}]}`,
		"cluster report, least": `{"kind":"ClusterReport","apiVersion":"openreports.io/v1alpha1","metadata":{"name":"x"}}`,
		"ephemeral report": `{"kind":"EphemeralReport","apiVersion":"reports.kyverno.io/v1",` + meta +
			`,"spec":{"owner":{"apiVersion":"v1","kind":"Pod","name":"","uid":""}}}`,
		"cluster ephemeral report": `{"kind":"ClusterEphemeralReport","apiVersion":"reports.kyverno.io/v1","metadata":{"name":"x"}` +
			`,"spec":{"owner":{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"},"summary":{},"results":[]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			codec := testCodec(t)
			object, err := runtime.Decode(codec, []byte(document))
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := runtime.Encode(codec, object.DeepCopyObject())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(document+"\n", string(encoded)); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzDocuments feeds any bytes to everything that sees a request's body.
func FuzzDocuments(f *testing.F) {
	for _, kind := range Kinds() {
		apiVersion, name := kind.GroupVersionKind.ToAPIVersionAndKind()
		f.Add([]byte(`{"apiVersion":"` + apiVersion + `","kind":"` + name + `","results":[{"policy":1}]}`))
		f.Add([]byte(`{"apiVersion":"` + apiVersion + `","kind":"` + name + `","metadata":{"name":"x","finalizers":["a"]},` +
			`"scope":{},"summary":{"pass":-1},"configuration":{},"spec":{"owner":{},"results":[{}]},` +
			`"results":[{"policy":"p","timestamp":{"seconds":1},"resourceSelector":{"matchExpressions":[{}]},"properties":null}]}`))
	}
	codec := testCodec(f)
	scheme := newTestScheme(f)
	f.Fuzz(func(t *testing.T, document []byte) {
		object, gvk, err := codec.Decode(document, nil, nil)
		if err != nil {
			return
		}
		accessor, ok := report.Of(object)
		if !ok {
			return
		}
		kind, err := kindOfGVK(*gvk)
		if err != nil {
			t.Fatal(err)
		}
		rules := newStrategy(kind, scheme)
		rules.PrepareForCreate(t.Context(), object)
		if errs := rules.Validate(t.Context(), object); len(errs) > maxFieldErrors+10 {
			t.Errorf("%d errors in one answer", len(errs))
		}
		rules.WarningsOnCreate(t.Context(), object)
		if _, _, err := kind.GetAttrs(object); err != nil {
			t.Error(err)
		}
		if _, err := newTableConvertor(kind.Columns).ConvertToTable(t.Context(), object, nil); err != nil {
			t.Error(err)
		}
		encoded, err := runtime.Encode(codec, object)
		if err != nil {
			t.Fatal(err)
		}
		again, err := runtime.Decode(codec, encoded)
		if err != nil {
			t.Fatalf("what was encoded can't be decoded: %v\n%s", err, encoded)
		}
		if !sameContent(accessor, again.(report.Accessor)) {
			t.Errorf("content changed:\n%s", cmp.Diff(accessor.GetContent(), again.(report.Accessor).GetContent()))
		}
	})
}

func testCodec(t testing.TB) runtime.Codec {
	t.Helper()
	var versions []schema.GroupVersion
	for _, kind := range Kinds() {
		versions = append(versions, kind.GroupVersion())
	}
	return NewCodecs(newTestScheme(t)).LegacyCodec(versions...)
}
