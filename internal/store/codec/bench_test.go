// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package codec_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/reports/registry"
)

// BenchmarkPack packs reports as they are stored.
func BenchmarkPack(b *testing.B) {
	cluster := sample.Cluster{Seed: 1, Now: time.Unix(1763800000, 0)}
	kind := testkit.Must(sample.KindOf("PolicyReport"))(b)
	corpora := map[string][]*unstructured.Unstructured{}
	for r := range cluster.Reports(60) {
		corpora["producers"] = append(corpora["producers"], r)
	}
	for i := range 60 {
		corpora["results=17"] = append(corpora["results=17"], cluster.Report(kind, i, 17))
		named := cluster.Report(kind, i, 17)
		nameMessages(b, named, fmt.Sprintf("pod-%x", i*7919))
		corpora["results=17/own-messages"] = append(corpora["results=17/own-messages"], named)
	}
	corpora["results=200"] = []*unstructured.Unstructured{cluster.Report(kind, 0, 200)}
	for name, reports := range corpora {
		var values [][]byte
		for i, r := range reports {
			values = append(values, stored(b, r, i))
		}
		b.Run(name, func(b *testing.B) {
			c := newCodec(b)
			var count, before, after int
			for b.Loop() {
				packed := c.Pack(values[count%len(values)])
				count, before, after = count+1, before+int(packed.Size), after+len(packed.Data)
			}
			b.ReportMetric(float64(before)/float64(count), "before/op")
			b.ReportMetric(float64(after)/float64(count), "after/op")
		})
	}
}

// nameMessages makes the messages of a PolicyReport such as no other has.
func nameMessages(b *testing.B, r *unstructured.Unstructured, name string) {
	results, ok, err := unstructured.NestedSlice(r.Object, "results")
	if err != nil || !ok {
		b.Fatal("a report without results: ", err)
	}
	for _, result := range results {
		if fields, ok := result.(map[string]any); ok {
			fields["message"] = fmt.Sprintf("%s: %v", name, fields["message"])
		}
	}
	r.Object["results"] = results
}

// stored returns what is packed of the i-th report, with what an API server adds.
func stored(b *testing.B, r *unstructured.Unstructured, i int) []byte {
	const managed = `{"f:metadata":{"f:labels":{".":{},"f:app.kubernetes.io/managed-by":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"%s\"}":{}}},` +
		`"f:results":{},"f:scope":{},"f:summary":{".":{},"f:error":{},"f:fail":{},"f:pass":{},"f:skip":{},"f:warn":{}}}`
	uid := fmt.Sprintf("%08x-7919-4abc-8def-%012x", (i+1)*0x79190711&0xffffffff, (i+1)*0x79190711*7919)
	now := metav1.NewTime(time.Unix(1763800000, 0))
	r.SetUID(types.UID(uid))
	r.SetGeneration(1)
	r.SetCreationTimestamp(now)
	r.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: "reports-controller", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: r.GetAPIVersion(),
		Time: &now, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fmt.Sprintf(managed, uid)),
	}})
	data, err := json.Marshal(r)
	if err != nil {
		b.Fatal(err)
	}
	for _, kind := range registry.Kinds() {
		if kind.GroupVersionKind != r.GroupVersionKind() {
			continue
		}
		decoded, _, err := kind.Decode(data)
		if err != nil {
			b.Fatal(err)
		}
		data = testkit.Must(runtime.Encode(registry.NewStorageCodec(), decoded))(b)
	}
	return data
}
