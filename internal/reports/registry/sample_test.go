// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	kyverno "github.com/docket-project/docket/api/reportskyverno/v1"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/kinds"
)

var update = flag.Bool("update", false, "rewrite the golden files that are made from this package")

func newTestTypes() objectTypes { return newTypes(runtime.NewScheme(), Kinds()) }

func newStrategy(kind Kind) *kinds.Strategy[object] {
	return kinds.NewStrategy(kind.Kind, newTestTypes())
}

func objectOf(t testing.TB, found runtime.Object) object {
	t.Helper()
	typed, ok := found.(object)
	if !ok {
		t.Fatalf("object is a %T, not a report", found)
	}
	return typed
}

func kindOf(t testing.TB, resource string) Kind {
	t.Helper()
	for _, kind := range Kinds() {
		if kind.Resource == resource {
			return kind
		}
	}
	t.Fatalf("no kind with resource %s", resource)
	return Kind{}
}

// content is what a sample report says, for whatever kind.
type content struct {
	scope   *report.ObjectReference
	source  *string
	summary *report.Summary
	results []report.Result
}

// newReport returns a report of kind with the given content. Ephemeral reports get
// an owner made of the scope; only openreports keep the source.
func newReport(t testing.TB, kind Kind, meta metav1.ObjectMeta, c content) object {
	t.Helper()
	var typed report.Accessor
	switch kind.GroupVersionKind.Kind {
	case "PolicyReport":
		typed = &wgpolicy.PolicyReport{ReportBody: wgpolicy.ReportBody{Scope: c.scope, Summary: c.summary, Results: c.results}}
	case "ClusterPolicyReport":
		typed = &wgpolicy.ClusterPolicyReport{ReportBody: wgpolicy.ReportBody{Scope: c.scope, Summary: c.summary, Results: c.results}}
	case "Report":
		typed = &openreports.Report{ReportBody: openreports.ReportBody{Source: c.source, Scope: c.scope, Summary: c.summary, Results: c.results}}
	case "ClusterReport":
		typed = &openreports.ClusterReport{ReportBody: openreports.ReportBody{Source: c.source, Scope: c.scope, Summary: c.summary, Results: c.results}}
	case "EphemeralReport":
		typed = &kyverno.EphemeralReport{}
		typed.(*kyverno.EphemeralReport).Spec = kyverno.EphemeralReportSpec{Owner: ownerOf(c.scope), Summary: c.summary, Results: c.results}
	case "ClusterEphemeralReport":
		typed = &kyverno.ClusterEphemeralReport{}
		typed.(*kyverno.ClusterEphemeralReport).Spec = kyverno.EphemeralReportSpec{Owner: ownerOf(c.scope), Summary: c.summary, Results: c.results}
	default:
		t.Fatalf("kind %s is unexpected", kind.GroupResource())
	}
	if !kind.Namespaced {
		meta.Namespace = ""
	}
	data := testkit.Must(json.Marshal(typed))(t)
	accessor, _ := testkit.Must2(kind.Decode(data))(t)
	accessor.SetName(meta.Name)
	accessor.SetNamespace(meta.Namespace)
	accessor.SetLabels(meta.Labels)
	accessor.SetAnnotations(meta.Annotations)
	accessor.SetFinalizers(meta.Finalizers)
	accessor.SetGeneration(meta.Generation)
	accessor.SetResourceVersion(meta.ResourceVersion)
	accessor.SetCreationTimestamp(meta.CreationTimestamp)
	return objectOf(t, accessor)
}

func ownerOf(scope *report.ObjectReference) *metav1.OwnerReference {
	if scope == nil {
		return nil
	}
	return &metav1.OwnerReference{APIVersion: scope.APIVersion, Kind: scope.Kind, Name: scope.Name, UID: scope.UID}
}

// fullContent returns a valid content with every column filled.
func fullContent() content {
	return content{
		scope: &report.ObjectReference{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: "team-a", Name: "web", UID: types.UID("uid-1"),
		},
		source:  new("kyverno"),
		summary: report.Counts{Pass: 5, Fail: 4, Warn: 3, Error: 2, Skip: 1}.Summary(),
		results: []report.Result{{
			Source:    new("kyverno"),
			Policy:    "require-labels",
			Rule:      "check-team",
			Severity:  report.SeverityHigh,
			Result:    report.OutcomeFail,
			Scored:    new(true),
			Timestamp: &metav1.Timestamp{Seconds: 1700000000},
		}},
	}
}

// compareGolden compares got with a file in testdata.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		testkit.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want := readGolden(t, name)
	testkit.NoDiff(t, cmp.Diff(want, got), "%s (-want +got)", path)
}

func readGolden(t *testing.T, name string) string {
	t.Helper()
	content := testkit.Must(os.ReadFile(filepath.Join("testdata", name)))(t)
	return string(content)
}

func encode(t testing.TB, codec runtime.Codec, object runtime.Object) string {
	t.Helper()
	encoded := testkit.Must(runtime.Encode(codec, object))(t)
	return string(encoded)
}
