// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kserializer "k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/docket-project/docket/api/report"
	ephemeral "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/definition"
	reportschema "github.com/docket-project/docket/internal/reports/schema"
)

// policyReports and ephemeralReports are two kinds of reports.
var policyReports, ephemeralReports = sync.OnceValue(func() *Kind {
	return reportKind(wgpolicy.SchemeGroupVersion.WithKind("PolicyReport"), func() report.Accessor { return &wgpolicy.PolicyReport{} })
}), sync.OnceValue(func() *Kind {
	return reportKind(ephemeral.SchemeGroupVersion.WithKind("EphemeralReport"), func() report.Accessor { return &ephemeral.EphemeralReport{} })
})

func reportKind(gvk schema.GroupVersionKind, view func() report.Accessor) *Kind {
	all, err := definition.Reports()
	if err != nil {
		panic(err)
	}
	of := slices.IndexFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Spec.Names.Kind == gvk.Kind })
	judge, err := reportschema.New(all[of], gvk.Version)
	if err != nil {
		panic(err)
	}
	list := gvk
	list.Kind += "List"
	return &Kind{GroupVersionKind: gvk, ListKind: list, Schema: judge, StoredVersion: gvk.Version, Proven: true, NewView: view}
}

const head = `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"x","namespace":"a"}`

func read(t testing.TB, data string) *Object {
	t.Helper()
	o := New(policyReports())
	testkit.NoError(t, json.Unmarshal([]byte(data), o))
	return o
}

func testCodec() runtime.Codec { return NewCodec(policyReports()) }

// TestBodies: whichever way a report is read, equal content is the same bytes.
func TestBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ sent, want string }{
		"nothing":                 {``, `{}`},
		"what is empty stays":     {`,"results":[],"scope":{},"summary":{"pass":0},"scopeSelector":{"matchLabels":{}}`, `{"results":[],"scope":{},"scopeSelector":{"matchLabels":{}},"summary":{"pass":0}}`},
		"empty texts stay":        {`,"scope":{"name":""},"results":[{"policy":"","message":""}]`, `{"results":[{"message":"","policy":""}],"scope":{"name":""}}`},
		"fields are ordered":      {`,"summary":{"warn":1,"fail":2},"results":[{"result":"pass","policy":"p"}]`, `{"results":[{"policy":"p","result":"pass"}],"summary":{"fail":2,"warn":1}}`},
		"whole numbers":           {`,"summary":{"pass":1.0,"fail":1e2,"warn":-0,"skip":-0.0}`, `{"summary":{"fail":100,"pass":1,"skip":0,"warn":0}}`},
		"escapes":                 {`,"scope":{"name":"\u003ca\/b\u003e \u00e9 \" \u0007"}`, `{"scope":{"name":"<a/b> é \" \u0007"}}`},
		"nulls":                   {`,"scope":null,"results":[{"policy":"p","rule":null}]`, `{"results":[{"policy":"p"}]}`},
		"unknown fields":          {`,"colour":"red","results":[{"policy":"p","colour":"red"}]`, `{"results":[{"policy":"p"}]}`},
		"the last of two wins":    {`,"summary":{"pass":1},"summary":{"pass":2}`, `{"summary":{"pass":2}}`},
		"a wrong type is kept":    {`,"summary":"all"`, `{"summary":"all"}`},
		"text that is no unicode": {",\"scope\":{\"name\":\"\xff\"}", "{\"scope\":{\"name\":\"\ufffd\"}}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := read(t, head+c.sent+"}")
			testkit.NoDiff(t, cmp.Diff(c.want, string(o.Body())), "body (-want +got)")
			stored := testkit.Must(runtime.Encode(testCodec(), o))(t)
			again := New(policyReports())
			if _, _, err := testCodec().Decode(stored, nil, again); err != nil {
				t.Fatal(err)
			}
			// As watches of etcd do.
			unasked := testkit.Must(runtime.Decode(testCodec(), stored))(t)
			if made, ok := unasked.(*Object); !ok || made.Name != "x" || !made.Content.Equal(o.Content) {
				t.Errorf("what was stored is made %v", unasked)
			}
			if !o.Content.Equal(again.Content) || again.Name != "x" || again.Namespace != "a" {
				t.Errorf("what was stored reads as %s/%s %s", again.Namespace, again.Name, again.Body())
			}
		})
	}
}

// TestNoManagedFields: a list of managers without items is none, which is not what forgets them all.
func TestNoManagedFields(t *testing.T) {
	t.Parallel()
	for _, metadata := range []string{`{"managedFields":[]}`, `{"managedFields":null}`, `{}`} {
		for _, rest := range []string{``, `,"surprise":1`} { // With what has to be pruned it is read in another way.
			got := read(t, `{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":`+metadata+rest+`}`).ManagedFields
			if got != nil {
				t.Errorf("%s%s is read as %v", metadata, rest, got)
			}
		}
	}
}

// TestStoredByOthers: JSON whose members are in another order, as another program wrote it.
func TestStoredByOthers(t *testing.T) {
	t.Parallel()
	o := New(policyReports())
	const other = `{"kind":"PolicyReport","summary":{"pass":1},"apiVersion":"wgpolicyk8s.io/v1alpha2","metadata":{"name":"x"}}`
	if _, _, err := testCodec().Decode([]byte(other), nil, o); err != nil {
		t.Fatal(err)
	}
	if string(o.Body()) != `{"summary":{"pass":1}}` || o.Name != "x" {
		t.Errorf("read as %s %s", o.Name, o.Body())
	}
	for _, damaged := range []string{``, `{`, `[]`, `{"apiVersion":1}`, head} {
		if _, _, err := testCodec().Decode([]byte(damaged), nil, New(policyReports())); err == nil {
			t.Errorf("%q is read as a report", damaged)
		}
	}
}

// TestEquality: the machinery of API servers compares objects field by field, and can't
// look into what is not exported.
func TestEquality(t *testing.T) {
	t.Parallel()
	a, b := read(t, head+`,"summary":{"pass":1}}`), read(t, head+`,"summary":{"pass":1.0}}`)
	testkit.Must(a.View())(t)
	if !equality.Semantic.DeepEqual(a, b) {
		t.Error("equal reports differ")
	}
	if c := read(t, head+`,"summary":{"pass":2}}`); equality.Semantic.DeepEqual(a, c) {
		t.Error("different reports are equal")
	}
	if !equality.Semantic.DeepEqual(New(policyReports()), New(policyReports())) {
		t.Error("empty reports differ")
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	o := read(t, head+`,"scope":{"kind":"Pod"},"summary":{"fail":1},"results":[{"policy":"p","source":"s","message":"m"},{"policy":"q","source":"s"}]}`)
	view := testkit.Must(o.View())(t)
	if view.GetName() != "x" || len(view.GetResults()) != 2 || view.GetResults()[0].Message != "m" {
		t.Errorf("view is %+v", view)
	}
	if view.GetScope().Kind != "Pod" || *view.GetSummary().Fail != 1 || view.GetSource() != "s" || o.Source() != "s" {
		t.Errorf("scope %v, summary %v, source %q and %q", view.GetScope(), view.GetSummary(), view.GetSource(), o.Source())
	}
	copied, ok := o.DeepCopyObject().(*Object)
	if !ok {
		t.Fatal("a copy is of another type")
	}
	copied.SetName("y")
	if again, err := copied.View(); err != nil || again.GetName() != "y" || view.GetName() != "x" {
		t.Errorf("the view of a copy is of %q: %v", again.GetName(), err)
	}
	invalid := read(t, head+`,"results":"none","scope":{"kind":"Pod"}}`)
	if _, err := invalid.View(); err == nil {
		t.Error("results of another type have a view")
	}
	if invalid.Source() != "" {
		t.Error("a body that can't be read has a source")
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	list := NewList(policyReports())
	list.ResourceVersion = "7"
	list.Items = append(list.Items, *read(t, head+`,"summary":{"pass":1}}`), *New(policyReports()))
	const want = `{"kind":"PolicyReportList","apiVersion":"wgpolicyk8s.io/v1alpha2","metadata":{"continue":"","resourceVersion":"7"},"items":[` +
		head + `,"summary":{"pass":1}},{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{}}]}`
	var out strings.Builder
	testkit.NoError(t, list.write(&out))
	testkit.NoDiff(t, cmp.Diff(want+"\n", out.String()), "list (-want +got)")
	data := testkit.Must(json.Marshal(list))(t)
	testkit.NoDiff(t, cmp.Diff(want, string(data)), "list by the usual encoder (-want +got)")
}

// TestUnknownFields: the errors of a strict request, in the words of custom resources.
func TestUnknownFields(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	negotiated := NewSerializer(kserializer.NewCodecFactory(scheme))
	info := negotiated.SupportedMediaTypes()[0]
	kind := ephemeralReports().GroupVersionKind
	const data = `{"apiVersion":"reports.kyverno.io/v1","kind":"EphemeralReport","metadata":{"name":"x","colour":1},` +
		`"spec":{"owner":{"name":"a","name":"b"},"results":[{"policy":"p","colour":"red"}]}}`
	into := New(ephemeralReports())
	_, _, err := negotiated.DecoderToVersion(info.StrictSerializer, kind.GroupVersion()).Decode([]byte(data), &kind, into)
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		t.Fatalf("the error is %v", err)
	}
	var got []string
	for _, problem := range strict.Errors() {
		got = append(got, problem.Error())
	}
	want := []string{`duplicate field "spec.owner.name"`, `unknown field "metadata.colour"`, `unknown field "spec.results[0].colour"`}
	testkit.NoDiff(t, cmp.Diff(want, got), "problems (-want +got)")
	if _, _, err := negotiated.DecoderToVersion(info.Serializer, kind.GroupVersion()).Decode([]byte(data), &kind, into); err != nil {
		t.Errorf("without strictness: %v", err)
	}
}
