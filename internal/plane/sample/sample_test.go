// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func testCluster() Cluster {
	return Cluster{Seed: 7, NamespaceCount: 5, Now: time.Unix(1_800_000_000, 0)}
}

func TestEqualCallsGiveEqualReports(t *testing.T) {
	t.Parallel()
	long, short := slices.Collect(testCluster().Reports(200)), slices.Collect(testCluster().Reports(50))
	testkit.NoDiff(t, cmp.Diff(long[:50], short), "the first reports depend on the number (-of 200 +of 50)")
	other := testCluster()
	other.Seed++
	if cmp.Equal(slices.Collect(other.Reports(50)), short) {
		t.Error("another seed gives the same reports")
	}
}

func TestReportsCoverSourcesAndKinds(t *testing.T) {
	t.Parallel()
	sources, kinds := map[string]bool{}, map[string]bool{}
	for report := range testCluster().Reports(20) {
		kinds[report.GetKind()] = true
		for _, entry := range results(t, report) {
			sources[entry["source"].(string)] = true
		}
	}
	wantSources := map[string]bool{
		"kyverno": true, "Trivy Vulnerability": true, "Trivy ConfigAudit": true, "Falco": true, "kubewarden": true, "Kube Bench": true,
	}
	testkit.NoDiff(t, cmp.Diff(wantSources, sources), "sources (-want +got)")
	wantKinds := map[string]bool{
		"PolicyReport": true, "ClusterPolicyReport": true, "Report": true, "ClusterReport": true, "EphemeralReport": true,
		"VulnerabilityReport": true, "ConfigAuditReport": true,
	}
	testkit.NoDiff(t, cmp.Diff(wantKinds, kinds), "kinds (-want +got)")
}

func TestReportsAreValid(t *testing.T) {
	t.Parallel()
	cluster := testCluster()
	all := slices.Collect(cluster.Reports(1000))
	for _, kind := range Kinds() {
		for i := range 50 {
			all = append(all, cluster.Report(kind, 10_000+i, 3))
		}
	}
	namespaces := map[string]bool{}
	for i := range cluster.namespaceCount() {
		namespaces[namespaceName(i)] = true
	}
	seen := map[string]bool{}
	for _, report := range all {
		checkReport(t, report, namespaces)
		key := report.GetKind() + "/" + report.GetNamespace() + "/" + report.GetName()
		if seen[key] {
			t.Errorf("%s appears twice", key)
		}
		seen[key] = true
	}
}

// checkReport fails the test for what an API server would refuse or a reader find odd.
func checkReport(t *testing.T, report *unstructured.Unstructured, namespaces map[string]bool) {
	t.Helper()
	name := report.GetKind() + " " + report.GetName()
	if problems := validation.IsDNS1123Subdomain(report.GetName()); len(problems) > 0 {
		t.Errorf("%s: name: %v", name, problems)
	}
	if namespace := report.GetNamespace(); namespace != "" && !namespaces[namespace] {
		t.Errorf("%s: namespace %q is not in Namespaces()", name, namespace)
	}
	for key, value := range report.GetLabels() {
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(problems) > 0 {
			t.Errorf("%s: label %s=%s: %v", name, key, value, problems)
		}
	}
	if report.GroupVersionKind().Group == TrivyGroup {
		return // TestTrivy.
	}
	if kind, err := KindOf(report.GetKind()); err != nil || kind.Namespaced != (report.GetNamespace() != "") {
		t.Errorf("%s: namespace %q does not fit the kind (%v)", name, report.GetNamespace(), err)
	}
	counts := map[string]int64{"pass": 0, "fail": 0, "warn": 0, "error": 0, "skip": 0}
	for _, entry := range results(t, report) {
		counts[entry["result"].(string)]++
		if severity := entry["severity"].(string); !strings.Contains(" critical high medium low info ", " "+severity+" ") {
			t.Errorf("%s: severity %q", name, severity)
		}
	}
	path := []string{"summary"}
	if report.GetAPIVersion() == ephemeralVersion {
		path = []string{"spec", "summary"}
	}
	summary, _, err := unstructured.NestedMap(report.Object, path...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	got := map[string]int64{}
	for outcome, count := range summary {
		got[outcome] = count.(int64)
	}
	testkit.NoDiff(t, cmp.Diff(counts, got), "%s: summary (-results +summary)", name)
	_ = report.DeepCopy() // Panics on values that are not JSON's.
}

func results(t *testing.T, report *unstructured.Unstructured) []map[string]any {
	t.Helper()
	if report.GroupVersionKind().Group == TrivyGroup {
		return mapped(t, report)
	}
	path := []string{"results"}
	if report.GetAPIVersion() == ephemeralVersion {
		path = []string{"spec", "results"}
	}
	list, found, err := unstructured.NestedSlice(report.Object, path...)
	if err != nil || !found || len(list) == 0 {
		t.Fatalf("%s %s: results found: %v, %v", report.GetKind(), report.GetName(), found, err)
	}
	entries := make([]map[string]any, len(list))
	for i := range list {
		entries[i] = list[i].(map[string]any)
	}
	return entries
}

func TestSourcesShareSubjects(t *testing.T) {
	t.Parallel()
	sources := map[string]map[string]bool{} // by the owner's UID
	for report := range testCluster().Reports(100) {
		if len(report.GetOwnerReferences()) == 0 {
			continue
		}
		id := string(report.GetOwnerReferences()[0].UID)
		if sources[id] == nil {
			sources[id] = map[string]bool{}
		}
		sources[id][results(t, report)[0]["source"].(string)] = true
	}
	shared := 0
	for _, of := range sources {
		if len(of) >= 3 {
			shared++
		}
	}
	if shared < 5 {
		t.Errorf("%d resources have results of three sources, want 5 or more", shared)
	}
}

func TestReportSize(t *testing.T) {
	t.Parallel()
	total := 0
	for i := range 100 {
		data := testkit.Must(json.Marshal(testCluster().Report(Kinds()[0], i, 17)))(t)
		total += len(data)
	}
	if mean := total / 100; mean < 6000 || mean > 7500 {
		t.Errorf("17 results make %d bytes on average, want about 7 KB", mean)
	} else {
		t.Logf("mean size %d bytes", mean)
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"PolicyReport", "policyreport", "policyreports"} {
		if kind, err := KindOf(name); err != nil || kind != Kinds()[0] {
			t.Errorf("KindOf(%q) = %v, %v", name, kind, err)
		}
	}
	if _, err := KindOf("pods"); err == nil || !strings.Contains(err.Error(), "EphemeralReport") {
		t.Errorf("KindOf(pods): %v, want an error that lists the kinds", err)
	}
}
