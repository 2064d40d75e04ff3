// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kserializer "k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/document"
)

func TestTypesOfEachKind(t *testing.T) {
	t.Parallel()
	types := newTestTypes()
	for _, kind := range Kinds() {
		for gvk, object := range map[schema.GroupVersionKind]runtime.Object{
			kind.GroupVersionKind: kind.New(), kind.ListKind(): kind.NewList(),
		} {
			known, unversioned, err := types.ObjectKinds(object)
			if err != nil || unversioned {
				t.Fatalf("%s: unversioned %v, %v", gvk, unversioned, err)
			}
			testkit.NoDiff(t, cmp.Diff([]schema.GroupVersionKind{gvk}, known), "kinds of %T (-want +got)", object)
			made := testkit.Must(types.New(gvk))(t)
			if got := made.GetObjectKind().GroupVersionKind(); got != gvk {
				t.Errorf("a new %s is a %s", gvk, got)
			}
		}
	}
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
	serializer := document.NewSerializer(kserializer.NewCodecFactory(runtime.NewScheme()))
	info := serializer.SupportedMediaTypes()[0]
	f.Fuzz(func(t *testing.T, n uint, data []byte) {
		kind := Kinds()[n%uint(len(Kinds()))]
		decoder := serializer.DecoderToVersion(info.StrictSerializer, kind.GroupVersion())
		read, _, err := decoder.Decode(data, &kind.GroupVersionKind, kind.New())
		if err != nil {
			return
		}
		incoming := objectOf(t, read)
		rules := newStrategy(kind)
		rules.PrepareForCreate(t.Context(), incoming)
		errs := rules.Validate(t.Context(), incoming)
		rules.WarningsOnCreate(t.Context(), incoming)
		if _, _, err := kind.GetAttrs(incoming); err != nil {
			t.Error(err)
		}
		if _, err := testkit.Must(newTable(kind))(t).ConvertToTable(t.Context(), incoming, nil); err != nil {
			t.Error(err)
		}
		if len(errs) > 0 {
			return
		}
		if _, err := incoming.View(); err != nil {
			t.Errorf("what is valid can't be read: %v", err)
		}
		stored := testkit.Must(runtime.Encode(kind.Codec(), incoming))(t)
		again, _, err := kind.Codec().Decode(stored, nil, kind.New())
		if err != nil {
			t.Fatalf("what was stored can't be decoded: %v\n%s", err, stored)
		}
		testkit.NoDiff(t, cmp.Diff(string(incoming.Body()), string(again.(object).Body())), "content changed")
	})
}
