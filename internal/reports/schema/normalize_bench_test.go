// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// benchmarkReport is a report as Kyverno's client sends it: 17 results of some 400 bytes,
// with fields in the order of its Go types.
func benchmarkReport() []byte {
	var results []string
	for i := range 17 {
		results = append(results, fmt.Sprintf(`{"source":"kyverno","policy":"policy-%d","rule":"rule","category":"Pod Security Standards (Restricted)",`+
			`"severity":"medium","timestamp":{"seconds":1763800000,"nanos":0},"result":"fail","scored":true,`+
			`"message":"validation error: Running as root is not allowed. The field spec.securityContext.runAsNonRoot must be true. rule failed at path /spec/securityContext/%d/",`+
			`"properties":{"controls":"runAsNonRoot","standard":"restricted","version":"latest"}}`, i, i))
	}
	return []byte(`{"kind":"PolicyReport","apiVersion":"wgpolicyk8s.io/v1alpha2","metadata":{"name":"x","namespace":"a"},` +
		`"scope":{"kind":"Pod","namespace":"a","name":"web","uid":"u","apiVersion":"v1"},` +
		`"summary":{"pass":0,"fail":17,"warn":0,"error":0,"skip":0},"results":[` + strings.Join(results, ",") + `]}`)
}

// BenchmarkRead compares the pass over the JSON with the library's way.
func BenchmarkRead(b *testing.B) {
	s := testkit.Must(Of(schema.GroupVersionKind{Group: "wgpolicyk8s.io", Version: "v1alpha2", Kind: "PolicyReport"}))(b)
	data := benchmarkReport()
	b.Run("normalize", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, ok := s.Normalize(data); !ok {
				b.Fatal("not accepted")
			}
		}
	})
	b.Run("library", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var content map[string]any
			testkit.Must(json.UnmarshalStrict(data, &content))(b)
			if _, _, err := s.Coerce(content, Options{WantUnknown: true}); err != nil {
				b.Fatal(err)
			}
			if errs := validateBody(s, content); len(errs) > 0 {
				b.Fatal(errs)
			}
			testkit.Must(Canonical(content))(b)
		}
	})
}
