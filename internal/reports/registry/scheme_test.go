// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/document"
	"github.com/docket-project/docket/internal/reports/kinds"
)

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
			testkit.NoDiff(t, cmp.Diff([]schema.GroupVersionKind{gvk, internal}, kinds), "kinds of %T (-want +got)", object)
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
	namer := testkit.Must(NewDefinitionNamer())(t)
	_, extensions := namer.GetDefinitionName("io.wgpolicyk8s.v1alpha2.PolicyReport")
	want := []any{map[string]any{"group": "wgpolicyk8s.io", "version": "v1alpha2", "kind": "PolicyReport"}}
	testkit.NoDiff(t, cmp.Diff(want, extensions["x-kubernetes-group-version-kind"]), "published kinds (-want +got)")
}

// FuzzDocuments feeds any bytes to everything that sees a request's body.
func FuzzDocuments(f *testing.F) {
	for i, kind := range Kinds() {
		apiVersion, name := kind.GroupVersionKind.ToAPIVersionAndKind()
		f.Add(uint(i), []byte(`{"apiVersion":"`+apiVersion+`","kind":"`+name+`","results":[{"policy":1}]}`))
		f.Add(uint(i), []byte(`{"apiVersion":"`+apiVersion+`","kind":"`+name+`","metadata":{"name":"x","finalizers":["a"]},`+
			`"scope":{},"summary":{"pass":-1},"configuration":{},"spec":{"owner":{},"results":[{}]},`+
			`"results":[{"policy":"p","timestamp":{"seconds":1},"resourceSelector":{"matchExpressions":[{}]},"properties":null}]}`))
	}
	scheme := newTestScheme(f)
	serializer := document.NewSerializer(NewCodecs(scheme))
	info := serializer.SupportedMediaTypes()[0]
	f.Fuzz(func(t *testing.T, n uint, data []byte) {
		kind := Kinds()[n%uint(len(Kinds()))]
		decoder := serializer.DecoderToVersion(info.StrictSerializer, kind.GroupVersion())
		read, _, err := decoder.Decode(data, &kind.GroupVersionKind, kind.New())
		if err != nil {
			return
		}
		incoming := objectOf(t, read)
		rules := newStrategy(kind, scheme)
		rules.PrepareForCreate(t.Context(), incoming)
		errs := rules.Validate(t.Context(), incoming)
		rules.WarningsOnCreate(t.Context(), incoming)
		if _, _, err := kind.GetAttrs(incoming); err != nil {
			t.Error(err)
		}
		if _, err := kinds.NewTableConvertor(kind.Kind).ConvertToTable(t.Context(), incoming, nil); err != nil {
			t.Error(err)
		}
		if len(errs) > 0 {
			return
		}
		if _, err := incoming.(interface {
			View() (report.Accessor, error)
		}).View(); err != nil {
			t.Errorf("what is valid can't be read: %v", err)
		}
		stored := testkit.Must(runtime.Encode(NewStorageCodec(), incoming))(t)
		again, _, err := NewStorageCodec().Decode(stored, nil, kind.New())
		if err != nil {
			t.Fatalf("what was stored can't be decoded: %v\n%s", err, stored)
		}
		testkit.NoDiff(t, cmp.Diff(string(incoming.Body()), string(again.(object).Body())), "content changed")
	})
}
