// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	kserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/reports/document"
	"github.com/docket-project/docket/internal/reports/registry"
	"github.com/docket-project/docket/internal/server/apiserver"
	"github.com/docket-project/docket/internal/server/imports"
)

// TestEncodedAnswers: an answer sent as it is stored has the same bytes as one that was decoded and encoded again.
func TestEncodedAnswers(t *testing.T) {
	t.Parallel()
	for name, database := range enginesFor(t, "postgres", "sqlite") { // On etcd the library's storage decodes.
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onReports(t, database(t), func(reports *apiserver.Reports) {
				for _, kind := range registry.Kinds() {
					n := fewReports
					if kind.Resource == "policyreports" {
						n = manyReports
					}
					fillOddly(t, reports.Storage(), kind, n, fewResults)
					compareEncoded(t, kind, reports.REST(kind))
				}
			})
		})
	}
}

// onReports has use work on the reports of a database, without a server.
func onReports(t *testing.T, database string, use func(*apiserver.Reports)) {
	t.Helper()
	options := apiserver.NewStorageOptions()
	options.Database = database
	reports := testkit.Must(apiserver.OpenReports(t.Context(), options))(t)
	defer func() {
		if err := reports.Close(); err != nil {
			t.Error(err)
		}
	}()
	use(reports)
}

const (
	// fewReports are what kinds get of which one is like the other.
	fewReports = 120
	// manyReports are more than two pages of a list without a limit.
	manyReports = 1600
	// fewResults are enough where the reports differ only in their metadata.
	fewResults = 2
)

// fillOddly stores n reports whose metadata is of every form, with up to the given number of results.
func fillOddly(t *testing.T, storage imports.Storage, kind registry.Kind, n, results int) {
	t.Helper()
	of := testkit.Must(sample.KindOf(kind.GroupVersionKind.Kind))(t)
	cluster := sample.Cluster{Seed: 7, Now: time.Now()}
	var group errgroup.Group
	group.SetLimit(64)
	for i := range n {
		report := cluster.Report(of, i, i%(results+1))
		report.SetName(fmt.Sprintf("report-%04d", i))
		if kind.Namespaced {
			report.SetNamespace(fmt.Sprintf("team-%d", i%3))
		}
		dress(report, i)
		group.Go(func() error {
			data, err := json.Marshal(report)
			if err != nil {
				return err
			}
			decoded, _, err := kind.Decode(data)
			if err != nil {
				return err
			}
			return storage.Create(t.Context(), apiserver.Movable(kind), decoded)
		})
	}
	testkit.NoError(t, group.Wait())
}

// dress gives the i-th report the metadata that others lack.
func dress(report *unstructured.Unstructured, i int) {
	if i%2 == 0 {
		report.SetUID("uid-<>&\u2028")
	}
	if i%3 == 0 {
		report.SetGenerateName(`report-"quoted"-`)
	}
	if i%5 == 0 {
		report.SetGeneration(int64(i))
	}
	if i%7 != 0 {
		report.SetCreationTimestamp(metav1.Unix(int64(i), 0))
	}
	if i%11 == 0 {
		report.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
		report.SetFinalizers([]string{"docket.dev/hold"})
	}
	report.SetLabels(map[string]string{"third": fmt.Sprint(i % 3), "rare": fmt.Sprint(i / 100), "ö": "ü<>"})
	report.SetAnnotations(map[string]string{"metadata": `{"resourceVersion":"1"}`, "creationTimestamp": "<&>\u2029"})
	report.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "a<b", Operation: metav1.ManagedFieldsOperationApply, APIVersion: report.GetAPIVersion(),
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:results": {".":{}},"f:spec":{"k:{\"a\":\"<\"}":{}}}`),
	}})
}

// compareEncoded asks in each way that an answer can be asked for.
func compareEncoded(t *testing.T, kind registry.Kind, served *registry.REST) {
	t.Helper()
	encoder := jsonEncoder(t)
	everywhere := genericapirequest.WithNamespace(t.Context(), "")
	for name, options := range encodedLists(t, served) {
		decoded := testkit.Must(served.List(everywhere, options))(t)
		encoded := testkit.Must(served.List(document.WithEncoded(everywhere), options))(t)
		if _, ok := encoded.(*document.EncodedList); !ok {
			t.Fatalf("the list is a %T", encoded)
		}
		for range 2 { // What reads on by itself can be read twice.
			sameAnswer(t, kind.Resource+" "+name, encoder, decoded, encoded)
		}
	}
	for i := range 100 {
		ctx := t.Context()
		if kind.Namespaced {
			ctx = genericapirequest.WithNamespace(ctx, fmt.Sprintf("team-%d", i%3))
		}
		name := fmt.Sprintf("report-%04d", i)
		decoded := testkit.Must(served.Get(ctx, name, &metav1.GetOptions{}))(t)
		encoded := testkit.Must(served.Get(document.WithEncoded(ctx), name, &metav1.GetOptions{}))(t)
		if _, ok := encoded.(*document.Encoded); !ok {
			t.Fatalf("the report is a %T", encoded)
		}
		sameAnswer(t, kind.Resource+" "+name, encoder, decoded, encoded)
	}
}

// encodedLists are the options of lists, by what is special about them.
func encodedLists(t *testing.T, served *registry.REST) map[string]*metainternalversion.ListOptions {
	t.Helper()
	first := testkit.Must(served.List(t.Context(), &metainternalversion.ListOptions{Limit: 7}))(t)
	meta, ok := first.(metav1.ListInterface)
	if !ok {
		t.Fatalf("the list is a %T", first)
	}
	label := func(text string) labels.Selector {
		return testkit.Must(labels.Parse(text))(t)
	}
	return map[string]*metainternalversion.ListOptions{
		"all":      {},
		"cached":   {ResourceVersion: "0"},
		"exact":    {ResourceVersion: meta.GetResourceVersion(), ResourceVersionMatch: metav1.ResourceVersionMatchExact},
		"limited":  {Limit: 10},
		"large":    {Limit: 1500},
		"further":  {Limit: 10, Continue: meta.GetContinue()},
		"the rest": {Continue: meta.GetContinue()},
		"many":     {LabelSelector: label("third in (0,2)")},
		"page":     {LabelSelector: label("third!=1"), Limit: 20},
		"few":      {LabelSelector: label("rare=3")},
		"none":     {LabelSelector: label("rare=none")},
		"name":     {FieldSelector: fields.OneTermEqualSelector("metadata.name", "report-0033")},
		"not":      {FieldSelector: fields.OneTermNotEqualSelector("metadata.name", "report-0033"), LabelSelector: label("third=0")},
	}
}

func jsonEncoder(t *testing.T) runtime.Encoder {
	t.Helper()
	serializer := document.NewSerializer(kserializer.NewCodecFactory(runtime.NewScheme()))
	info, ok := runtime.SerializerInfoForMediaType(serializer.SupportedMediaTypes(), runtime.ContentTypeJSON)
	if !ok {
		t.Fatal("there is no JSON")
	}
	return info.Serializer
}

func sameAnswer(t *testing.T, what string, encoder runtime.Encoder, decoded, encoded runtime.Object) {
	t.Helper()
	var want, got bytes.Buffer
	testkit.NoError(t, encoder.Encode(decoded, &want))
	testkit.NoError(t, encoder.Encode(encoded, &got))
	if !bytes.Equal(want.Bytes(), got.Bytes()) {
		at := 0
		for at < min(want.Len(), got.Len()) && want.Bytes()[at] == got.Bytes()[at] {
			at++
		}
		t.Fatalf("%s: %d bytes, want %d; from %d on:\n%.300s\nwant\n%.300s", what, got.Len(), want.Len(), at, got.Bytes()[at:], want.Bytes()[at:])
	}
}

// TestIndentedAnswers: those who read with their eyes get what programs get, with space in it.
func TestIndentedAnswers(t *testing.T) {
	t.Parallel()
	s := startServer(t, databases()["sqlite"](t))
	mustCreate(t, s.reports("team"), pinnedReport("indented"))
	for _, path := range []string{reportsPath("team", ""), reportsPath("team", "indented")} {
		plain := s.do(t, http.MethodGet, path, nil).want(t, http.StatusOK)
		for _, answer := range []answer{
			s.do(t, http.MethodGet, path, nil, "User-Agent: curl/8.5.0"),
			s.do(t, http.MethodGet, path, nil, "Accept: application/json;pretty=1"),
			s.do(t, http.MethodGet, path+"?pretty=true", nil),
		} {
			var compact bytes.Buffer
			testkit.NoError(t, json.Compact(&compact, answer.want(t, http.StatusOK).body))
			if want := bytes.TrimSpace(plain.body); !bytes.Equal(compact.Bytes(), want) || bytes.Count(answer.body, []byte("\n")) < 10 {
				t.Errorf("got\n%s\nwant, indented,\n%s", answer.body, want)
			}
		}
	}
}

// TestCompressedLists: lists of some size are compressed for clients that want that, as kube-apiserver does.
func TestCompressedLists(t *testing.T) {
	t.Parallel()
	s := startServer(t, databases()["sqlite"](t))
	for i := range 40 {
		report := pinnedReport(fmt.Sprintf("report-%d", i))
		report.SetAnnotations(map[string]string{"docket.dev/text": strings.Repeat("text ", 1000)})
		mustCreate(t, s.reports("team"), report)
	}
	const path = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/team/policyreports"
	plain := s.do(t, http.MethodGet, path, nil, "Accept-Encoding: identity").want(t, http.StatusOK)
	for _, accept := range []string{"application/json", "*/*"} {
		packed := s.do(t, http.MethodGet, path, nil, "Accept-Encoding: gzip", "Accept: "+accept).want(t, http.StatusOK)
		if packed.Header.Get("Content-Encoding") != "gzip" {
			t.Errorf("a list of %d bytes is not compressed: %v", len(plain.body), packed.Header)
			continue
		}
		reader := testkit.Must(gzip.NewReader(bytes.NewReader(packed.body)))(t)
		if body, err := io.ReadAll(reader); err != nil || !bytes.Equal(body, plain.body) {
			t.Errorf("%d bytes and %v, want the %d of the plain list", len(body), err, len(plain.body))
		}
	}
	small := s.do(t, http.MethodGet, path+"?limit=2", nil, "Accept-Encoding: gzip").want(t, http.StatusOK)
	if small.Header.Get("Content-Encoding") != "" {
		t.Error("a small list is compressed")
	}
}
