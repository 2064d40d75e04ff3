// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/results/mapping"
)

// storedObject is an object as the store keeps it.
type storedObject struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`

	body []byte
}

func (s *storedObject) DeepCopyObject() runtime.Object { c := *s; return &c }
func (s *storedObject) Body() []byte                   { return s.body }

// storedReport is a report that is read as documents are.
type storedReport struct{ *storedObject }

func (s storedReport) View() (report.Accessor, error) {
	r := &openreports.Report{ObjectMeta: s.ObjectMeta}
	return r, jsonv2.Unmarshal(s.body, r)
}

// vulnerabilityReport returns a report of Trivy with vulnerabilities that have a description and links.
func vulnerabilityReport(n int) *storedObject {
	all := make([]any, n)
	for i := range all {
		links := make([]string, 5)
		for k := range links {
			links[k] = fmt.Sprintf("https://example.com/advisories/%d/%d", i, k)
		}
		all[i] = map[string]any{
			"vulnerabilityID": fmt.Sprintf("CVE-2026-%05d", i), "resource": fmt.Sprintf("lib%d", i%50), "installedVersion": "1.2.3", "fixedVersion": "1.2.4",
			"severity": []string{"CRITICAL", "HIGH", "MEDIUM", "LOW", "UNKNOWN"}[i%5], "title": fmt.Sprintf("lib%d: a defect, number %d", i%50, i),
			"description": strings.Repeat("What is wrong. ", 15), "primaryLink": links[0], "links": links, "score": float64(i%100) / 10,
			"publishedDate": "2026-01-01T00:00:00Z", "lastModifiedDate": "2026-01-02T00:00:00Z", "target": "registry.example.com/shop/web:1.2 (debian 12.5)",
		}
	}
	body, err := json.Marshal(map[string]any{"report": map[string]any{
		"artifact": map[string]any{"repository": "shop/web", "tag": "1.2"}, "registry": map[string]any{"server": "registry.example.com"},
		"os": map[string]any{"family": "debian", "name": "12.5"}, "vulnerabilities": all,
	}})
	if err != nil {
		panic(err) // Maps and texts.
	}
	o := &storedObject{TypeMeta: metav1.TypeMeta{APIVersion: "aquasecurity.github.io/v1alpha1", Kind: "VulnerabilityReport"}, ObjectMeta: meta(), body: body}
	o.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "rs-1"}}
	return o
}

// BenchmarkProjector compares what it takes to make the rows of an object of Trivy and of a report with the same
// results.
func BenchmarkProjector(b *testing.B) {
	projector := Projector(testkit.Must(mapping.Load())(b))
	for _, n := range []int{300, 3000} {
		trivy := vulnerabilityReport(n)
		mapped := testkit.Must(mapping.Load())(b).Of(trivy.GroupVersionKind().GroupKind()).Report(trivy)
		plain := storedReport{&storedObject{ObjectMeta: trivy.ObjectMeta}}
		plain.body = testkit.Must(json.Marshal(openreports.ReportBody{Scope: mapped.GetScope(), Results: mapped.GetResults()}))(b)
		for name, object := range map[string]runtime.Object{"mapping": trivy, "report": plain} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if p, err := projector(object); err != nil || len(p.Results) != n || p.Error > 0 {
						b.Fatalf("%v, %v", p, err)
					}
				}
			})
		}
		b.Logf("%d results: %d bytes of Trivy, %d bytes of a report", n, len(trivy.body), len(plain.body))
	}
}
