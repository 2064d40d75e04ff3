// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestKinds(t *testing.T) {
	t.Parallel()
	var got []string
	for _, kind := range Kinds() {
		scope := "Cluster"
		if kind.Namespaced {
			scope = "Namespaced"
		}
		got = append(got, fmt.Sprintf("%s %s %s %s %s %v", kind.GroupVersionResource().GroupVersion(),
			kind.Resource, kind.Singular, kind.GroupVersionKind.Kind, scope, append(kind.ShortNames, kind.Categories...)))
	}
	want := []string{
		"openreports.io/v1alpha1 reports report Report Namespaced [reps]",
		"openreports.io/v1alpha1 clusterreports clusterreport ClusterReport Cluster [creps]",
		"reports.kyverno.io/v1 ephemeralreports ephemeralreport EphemeralReport Namespaced [ephr kyverno]",
		"reports.kyverno.io/v1 clusterephemeralreports clusterephemeralreport ClusterEphemeralReport Cluster [cephr kyverno]",
		"wgpolicyk8s.io/v1alpha2 policyreports policyreport PolicyReport Namespaced [polr]",
		"wgpolicyk8s.io/v1alpha2 clusterpolicyreports clusterpolicyreport ClusterPolicyReport Cluster [cpolr]",
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "kinds (-want +got)")
}

func TestGroups(t *testing.T) {
	t.Parallel()
	want := []string{"openreports.io", "reports.kyverno.io", "wgpolicyk8s.io"}
	testkit.NoDiff(t, cmp.Diff(want, Groups()), "groups (-want +got)")
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, want := range Kinds() {
		got := testkit.Must(KindOf(want.GroupResource()))(t)
		if got.GroupVersionKind != want.GroupVersionKind {
			t.Errorf("KindOf(%s) = %s", want.GroupResource(), got.GroupVersionKind)
		}
	}
	_, err := KindOf(schema.GroupResource{Group: "apps", Resource: "deployments"})
	if err == nil || !strings.Contains(err.Error(), "deployments.apps is not a kind of report") {
		t.Errorf("error for another resource is %v", err)
	}
}

func TestValidateGroups(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		enabled []string
		want    []string
	}{
		"all":     {Groups(), nil},
		"one":     {[]string{"openreports.io"}, nil},
		"none":    {nil, []string{"no API group is served: choose from openreports.io, reports.kyverno.io, wgpolicyk8s.io"}},
		"unknown": {[]string{"x.io", "openreports.io", "y.io"}, []string{`API group "x.io" is not known`, `API group "y.io" is not known`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := ValidateGroups(test.enabled)
			if (err != nil) != (len(test.want) > 0) {
				t.Fatalf("error is %v", err)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q doesn't say %q", err, part)
				}
			}
		})
	}
}
