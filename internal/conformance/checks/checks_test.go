// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/conformance"
	"github.com/docket-project/docket/internal/conformance/conformancetest"
)

// TestGoodServers: all checks pass that apply.
func TestGoodServers(t *testing.T) {
	for _, test := range []struct {
		version   schema.GroupVersion
		resources []string
	}{
		{examples, []string{"widgets", "gadgets"}},
		{schema.GroupVersion{Version: "v1"}, []string{"configmaps"}},
		{schema.GroupVersion{Group: "wgpolicyk8s.io", Version: "v1alpha2"}, []string{"policyreports", "clusterpolicyreports"}},
		{schema.GroupVersion{Group: "openreports.io", Version: "v1alpha1"}, []string{"reports", "clusterreports"}},
		{schema.GroupVersion{Group: "reports.kyverno.io", Version: "v1"}, []string{"ephemeralreports", "clusterephemeralreports"}},
	} {
		t.Run(test.version.String(), func(t *testing.T) {
			report, err := conformance.Run(t.Context(), options(t, test.version, test.resources...))
			if err != nil {
				t.Fatal(err)
			}
			for i := range report.Results {
				switch result := &report.Results[i]; result.Outcome {
				case conformance.Passed:
				case conformance.Failed:
					t.Errorf("%s (%s): %v", result.Check.ID, result.Resource, result.Failure)
				case conformance.Undecided:
					t.Errorf("%s (%s) is undecided: %s %v", result.Check.ID, result.Resource, result.Reason, result.Exchange)
				default:
					t.Logf("%s (%s) is skipped: %s", result.Check.ID, result.Resource, result.Reason)
				}
			}
			for _, trouble := range report.Troubles {
				t.Errorf("%s: %s %v", trouble.Resource, trouble.Reason, trouble.Exchange)
			}
			if len(report.Left) > 0 {
				t.Errorf("not removed: %q", report.Left)
			}
			t.Logf("%d passed in %v", report.Count(conformance.Passed), report.Duration)
		})
	}
}

// TestBrokenServers: each check fails on a server that breaks its rule, and no other check does. Those
// that need the controllers of a cluster are proven in test/e2e.
func TestBrokenServers(t *testing.T) {
	var skip []string
	for _, proof := range Proofs() {
		if proof.Server.NeedsControllers {
			skip = append(skip, proof.Check.ID)
		}
	}
	for _, proof := range Proofs() {
		if proof.Server.NeedsControllers {
			continue
		}
		t.Run(proof.Check.ID, func(t *testing.T) {
			t.Parallel()
			options := options(t, examples, "widgets")
			options.Skip = skip
			options.Samples = []*unstructured.Unstructured{widget()} // Some servers have no schema.
			if err := conformancetest.Prove(t.Context(), options, proof.Check.ID, proof.Server); err != nil {
				t.Errorf("the server %s:\n%v", proof.Server.What, err)
			}
		})
	}
}
