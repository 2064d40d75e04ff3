// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// kyvernoReport resembles what Kyverno writes for one pod.
func kyvernoReport(entries int) *wgpolicy.PolicyReport {
	r := &wgpolicy.PolicyReport{ObjectMeta: meta()}
	r.Scope = &pod
	for i := range entries {
		r.Results = append(r.Results, report.Result{
			Source: new("kyverno"), Policy: fmt.Sprintf("disallow-privilege-escalation-%d", i), Rule: "privilege-escalation",
			Category: "Pod Security Standards (Restricted)", Severity: report.SeverityMedium, Result: report.OutcomeFail,
			Message: "validation error: privilege escalation is disallowed, see spec.containers[*].securityContext. " +
				"rule privilege-escalation failed at path /spec/containers/0/securityContext/",
			Scored: new(true), Timestamp: &metav1.Timestamp{Seconds: created.Unix()},
			Properties: map[string]string{"process": "background scan"},
		})
	}
	return r
}

// splitReport is a report of one policy about many subjects.
func splitReport(entries int) *wgpolicy.PolicyReport {
	r := kyvernoReport(entries)
	for i := range r.Results {
		r.Results[i].Policy = "disallow-privilege-escalation"
		r.Results[i].Resources = []report.ObjectReference{{Kind: "Pod", Name: fmt.Sprintf("pod-%d", i)}}
	}
	return r
}

func BenchmarkProject(b *testing.B) {
	for _, test := range []struct {
		name string
		obj  *wgpolicy.PolicyReport
	}{
		{"kyverno/17", kyvernoReport(17)},
		{"split/1000", splitReport(1000)},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				testkit.Must(Project(test.obj))(b)
			}
		})
		b.Run(test.name+"/ids", func(b *testing.B) {
			b.ReportAllocs()
			var sum int64
			for b.Loop() {
				p := testkit.Must(Project(test.obj))(b)
				sum += identities(p)
			}
			if sum == 0 {
				b.Fatal("no identities")
			}
		})
	}
}

// identities asks for the ID of each distinct verdict and subject once, as an
// engine does.
func identities(p *engine.Projection) (sum int64) {
	verdicts := make(map[*engine.Verdict]struct{}, 32)
	if p.Scope != nil {
		sum += p.Scope.ID()
	}
	for i := range p.Results {
		v := p.Results[i].Verdict
		if _, ok := verdicts[v]; !ok {
			verdicts[v] = struct{}{}
			sum += v.ID()
		}
		if s := p.Results[i].Subject; s != nil {
			sum += s.ID()
		}
	}
	return sum
}
