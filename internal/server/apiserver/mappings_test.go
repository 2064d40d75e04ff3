// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
)

// TestMappedResults: objects of custom resources with a mapping have results from the write on that makes them, and
// what changes them is seen, also where it is only the owner. An object on which the mapping fails is stored.
func TestMappedResults(t *testing.T) {
	t.Parallel()
	for name, newURL := range databases() {
		if name == "etcd" {
			continue // There are no results.
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startServer(t, newURL(t), func(o *apiserver.Options) {
				o.Storage.CustomResources = []string{filepath.Join("..", "..", "plane", "sample", "trivy", "definitions.yaml")}
			})
			const scans = "/apis/aquasecurity.github.io/v1alpha1/namespaces/shop/vulnerabilityreports"
			const scan = `{"apiVersion":"aquasecurity.github.io/v1alpha1","kind":"VulnerabilityReport","metadata":{"name":"web"},"report":{` +
				`"scanner":{"name":"Trivy","vendor":"a","version":"1"},"artifact":{},"summary":{"criticalCount":0,"highCount":1,"mediumCount":0,"lowCount":0},` +
				`"vulnerabilities":[{"vulnerabilityID":"CVE-2026-1","resource":"tar","installedVersion":"1","fixedVersion":"2","severity":"HIGH","title":"t"}]}}`
			ask(t, s, http.StatusCreated, http.MethodPost, scans, scan)
			wantResults := func(policy, result, subject string) {
				t.Helper()
				list := ask(t, s, http.StatusOK, http.MethodGet, "/apis/results.docket.dev/v1alpha1/namespaces/shop/policyresults", "")
				items, _ := at(t, list, "items").([]any)
				if len(items) != 1 {
					t.Fatalf("there are %d results, want 1", len(items))
				}
				got, _ := items[0].(map[string]any)
				about, _ := got["subject"].(map[string]any)
				if got["policy"] != policy || got["result"] != result || subject != "" && about["name"] != subject {
					t.Errorf("the result is %v, want %s, %s, %s", got, policy, result, subject)
				}
			}
			wantResults("CVE-2026-1", "fail", "")
			change := func(patch string) {
				t.Helper()
				ask(t, s, http.StatusOK, http.MethodPatch, scans+"/web", patch, "Content-Type: application/merge-patch+json")
			}
			change(`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"u"}]}}`)
			wantResults("CVE-2026-1", "fail", "web-1")
			change(`{"metadata":{"ownerReferences":null,"annotations":{"trivy-operator.resource.name":"web-2"}}}`)
			wantResults("CVE-2026-1", "fail", "web-2")
			change(`{"report":{"vulnerabilities":[{"vulnerabilityID":"","resource":"tar","installedVersion":"1","fixedVersion":"","severity":"LOW","title":""}]}}`)
			wantResults("vulnerabilityreports.aquasecurity.github.io", "error", "web")
			ask(t, s, http.StatusOK, http.MethodDelete, scans+"/web", "")
			if list := ask(t, s, http.StatusOK, http.MethodGet, "/apis/results.docket.dev/v1alpha1/policyresults", ""); len(at(t, list, "items").([]any)) != 0 {
				t.Error("a deleted object has results")
			}
		})
	}
}

// TestRebuiltByMapping: after a change of a mapping, rows are made again with it.
func TestRebuiltByMapping(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	mappings := filepath.Join(folder, "mappings.yaml")
	text := string(testkit.Must(os.ReadFile("testdata/mappings.yaml"))(t))
	text = strings.NewReplacer("example.com", "aquasecurity.github.io", "v1", "v1alpha1", "Finding", "ConfigAuditReport", "findings", "configauditreports",
		"object.items", "object.report.checks", "item.policy", "item.checkID", "item.result", `"'warn'"`).Replace(text)
	testkit.NoError(t, os.WriteFile(mappings, []byte(text), 0o600))
	url := databases()["sqlite"](t)
	withKinds := func(files ...string) func(*apiserver.Options) {
		return func(o *apiserver.Options) {
			o.Storage.CustomResources = []string{filepath.Join("..", "..", "plane", "sample", "trivy", "definitions.yaml")}
			o.Storage.ResultMappings = files
		}
	}
	s := startServer(t, url, withKinds())
	const audit = `{"apiVersion":"aquasecurity.github.io/v1alpha1","kind":"ConfigAuditReport","metadata":{"name":"web"},"report":{` +
		`"scanner":{"name":"Trivy","vendor":"a","version":"1"},"summary":{"criticalCount":0,"highCount":1,"mediumCount":0,"lowCount":0},` +
		`"checks":[{"checkID":"KSV001","title":"t","severity":"HIGH","success":false}]}}`
	ask(t, s, http.StatusCreated, http.MethodPost, "/apis/aquasecurity.github.io/v1alpha1/namespaces/shop/configauditreports", audit)
	results := func() any {
		items, _ := at(t, ask(t, s, http.StatusOK, http.MethodGet, "/apis/results.docket.dev/v1alpha1/policyresults", ""), "items").([]any)
		got, _ := items[0].(map[string]any)
		return got["result"]
	}
	if got := results(); got != "fail" {
		t.Fatalf("by the mapping that is built in the result is %v", got)
	}
	s.stop()
	o := apiserver.NewLocalOptions()
	withKinds(mappings)(o)
	o.Storage.Database = url
	reports := testkit.Must(apiserver.OpenReports(t.Context(), o.Storage))(t)
	testkit.NoError(t, reports.Store.RebuildResults(t.Context(), nil))
	testkit.NoError(t, reports.Close())
	s = startServer(t, url, withKinds(mappings))
	if got := results(); got != "warn" {
		t.Errorf("by the new mapping the result is %v", got)
	}
}

// TestWrongMappings: the server does not start, and says where the mistake is.
func TestWrongMappings(t *testing.T) {
	t.Parallel()
	o := apiserver.NewLocalOptions()
	o.Storage.Database = "sqlite:///x.db"
	o.Storage.ResultMappings = []string{filepath.Join(t.TempDir(), "m.yaml")}
	text := string(testkit.Must(os.ReadFile("testdata/mappings.yaml"))(t))
	testkit.NoError(t, os.WriteFile(o.Storage.ResultMappings[0], []byte(strings.Replace(text, "item.policy", "itme.policy", 1)), 0o600))
	errs := o.Validate()
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "m.yaml: mapping 1 (findings.example.com): line 9: results[0].policy: ") || !strings.HasPrefix(errs[0].Error(), "--result-mappings: ") {
		t.Errorf("got %v", errs)
	}
}
