// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestGetAttrs(t *testing.T) {
	t.Parallel()
	scoped := fields.Set{
		"metadata.name": "x", "scope.uid": "uid-1", "scope.kind": "Deployment",
		"scope.name": "web", "scope.namespace": "team-a", "source": "kyverno",
	}
	owned := fields.Set{
		"metadata.name": "x", "spec.owner.uid": "uid-1", "spec.owner.kind": "Deployment", "spec.owner.name": "web",
	}
	wantByGroup := map[string]fields.Set{
		"wgpolicyk8s.io": scoped, "openreports.io": scoped, "reports.kyverno.io": owned,
	}
	for _, kind := range Kinds() {
		t.Run(kind.Resource, func(t *testing.T) {
			t.Parallel()
			want := fields.Set{}
			for name, value := range wantByGroup[kind.GroupVersionKind.Group] {
				want[name] = value
			}
			if kind.Namespaced {
				want["metadata.namespace"] = "team-a"
			}
			meta := metav1.ObjectMeta{Name: "x", Namespace: "team-a", Labels: map[string]string{"a": "b"}}
			gotLabels, got := testkit.Must2(kind.GetAttrs(newReport(t, kind, meta, fullContent())))(t)
			testkit.NoDiff(t, cmp.Diff(want, got), "fields (-want +got)")
			testkit.NoDiff(t, cmp.Diff(labels.Set{"a": "b"}, gotLabels), "labels (-want +got)")
			if diff := cmp.Diff(len(got), len(kind.FieldNames())); diff != "" {
				t.Errorf("FieldNames has other fields than GetAttrs: %v", kind.FieldNames())
			}
			for _, name := range kind.FieldNames() {
				if _, ok := got[name]; !ok {
					t.Errorf("GetAttrs has no field %s", name)
				}
			}
		})
	}
}

// TestGetAttrsOfEmptyReports: a field that a report lacks is empty but present, so
// that selectors with != find the report.
func TestGetAttrsOfEmptyReports(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		_, got := testkit.Must2(kind.GetAttrs(kind.New()))(t)
		for _, name := range kind.FieldNames() {
			if value, ok := got[name]; !ok || value != "" {
				t.Errorf("%s of an empty %s is %q, present %v", name, kind.Resource, value, ok)
			}
		}
	}
}

func TestGetAttrsOfOtherObject(t *testing.T) {
	t.Parallel()
	_, _, err := kindOf(t, "reports").GetAttrs(&metav1.Status{})
	if err == nil || !strings.Contains(err.Error(), "reports.openreports.io") {
		t.Errorf("error is %v, want one that names the resource", err)
	}
}

func TestPredicate(t *testing.T) {
	t.Parallel()
	kind := kindOf(t, "policyreports")
	object := newReport(t, kind, metav1.ObjectMeta{Name: "x", Labels: map[string]string{"a": "b"}}, fullContent())
	for selector, want := range map[[2]string]bool{
		{"", ""}:                                true,
		{"a=b", "scope.uid=uid-1"}:              true,
		{"a=b", "scope.uid=other"}:              false,
		{"a!=b", "scope.uid=uid-1"}:             false,
		{"", "scope.kind!=Pod,metadata.name=x"}: true,
	} {
		label := testkit.Must(labels.Parse(selector[0]))(t)
		predicate := kind.Predicate(label, fields.ParseSelectorOrDie(selector[1]))
		got := testkit.Must(predicate.Matches(object))(t)
		if got != want {
			t.Errorf("selectors %q match: %v, want %v", selector, got, want)
		}
	}
}

func TestFieldLabelConversion(t *testing.T) {
	t.Parallel()
	scheme := newTestTypes()
	for _, kind := range Kinds() {
		for _, name := range kind.FieldNames() {
			gotName, value, err := scheme.ConvertFieldLabel(kind.GroupVersionKind, name, "v")
			if err != nil || gotName != name || value != "v" {
				t.Errorf("%s: %s=v becomes %s=%s, %v", kind.Resource, name, gotName, value, err)
			}
		}
		unknown := []string{"scope", "metadata.uid", "spec.owner", "results.policy", ""}
		if !kind.Namespaced {
			unknown = append(unknown, "metadata.namespace")
		}
		for _, name := range unknown {
			_, _, err := scheme.ConvertFieldLabel(kind.GroupVersionKind, name, "v")
			if err == nil || !strings.Contains(err.Error(), "metadata.name") {
				t.Errorf("%s: error for field %q is %v, want one that lists the fields", kind.Resource, name, err)
			}
		}
	}
}
