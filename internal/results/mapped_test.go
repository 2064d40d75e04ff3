// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/store/engine"
)

// TestProjector: objects of kinds with a mapping have rows, those of others none, and reports those that they had.
func TestProjector(t *testing.T) {
	t.Parallel()
	projector := Projector(testkit.Must(mapping.Load())(t))
	trivy := vulnerabilityReport(2)
	about := &engine.Subject{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "team-a", Name: "web-1", UID: "rs-1"}
	want := head("VulnerabilityReport")
	want.Source, want.Scope, want.Fail = "Trivy Vulnerability", about, 2
	const properties = `"artifact.repository":"shop/web","artifact.tag":"1.2","fixedVersion":"1.2.4","installedVersion":"1.2.3",` +
		`"primaryLink":"https://example.com/advisories/#/0","registry.server":"registry.example.com","resource":"lib#","score":"%",` +
		`"target":"registry.example.com/shop/web:1.2 (debian 12.5)"}`
	for i, number := range []string{"0", "1"} {
		want.Results = append(want.Results, engine.Result{Index: int32(i), Seconds: created.Unix(), Verdict: &engine.Verdict{
			Source: "Trivy Vulnerability", Policy: "CVE-2026-0000" + number, Rule: "lib" + number, Category: "Vulnerability Scan",
			Severity: []string{"critical", "high"}[i], Result: "fail", Message: "lib" + number + ": a defect, number " + number,
			Properties: engine.JSON(strings.NewReplacer("#", number, "%", []string{"0", "0.1"}[i]).Replace(`{"OS":"debian 12.5",` + properties)),
		}})
	}
	got := testkit.Must(projector(trivy))(t)
	testkit.NoDiff(t, cmp.Diff(&want, got), "projection (-want +got)")
	checkRows(t, got)
	if again := testkit.Must(projector(trivy.DeepCopyObject()))(t); !again.Equal(got) {
		t.Error("the same object gave other rows")
	}

	trivy.body = []byte(`{"report":{"vulnerabilities":[{"severity":"LOW"}]}}`)
	failed := testkit.Must(projector(trivy))(t)
	checkRows(t, failed)
	if len(failed.Results) != 1 || failed.Error != 1 || failed.Results[0].Verdict.Result != "error" || failed.Results[0].Subject.Kind != "VulnerabilityReport" {
		t.Errorf("where the mapping fails, the rows are %+v", failed)
	}
	trivy.Kind = "SbomReport"
	if rows, err := projector(trivy); rows != nil || err != nil {
		t.Errorf("without a mapping: %v, %v", rows, err)
	}

	plain := storedReport{&storedObject{ObjectMeta: meta(), body: []byte(`{"results":[{"policy":"p"}]}`)}}
	plain.TypeMeta = metav1.TypeMeta{APIVersion: "openreports.io/v1alpha1", Kind: "Report"}
	if got, want := testkit.Must(projector(plain))(t), testkit.Must(Project(plain))(t); !got.Equal(want) || len(got.Results) != 1 {
		t.Errorf("a report has the rows %+v, want %+v", got, want)
	}
	if _, err := projector(&metav1.Status{}); err == nil {
		t.Error("what is neither has rows")
	}
}
