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

const (
	auditReports = "/apis/aquasecurity.github.io/v1alpha1/namespaces/shop/configauditreports"
	auditReport  = `{"apiVersion":"aquasecurity.github.io/v1alpha1","kind":"ConfigAuditReport","metadata":{"name":"web"},"report":{` +
		`"scanner":{"name":"Trivy","vendor":"a","version":"1"},"summary":{"criticalCount":0,"highCount":1,"mediumCount":0,"lowCount":0},` +
		`"checks":[{"checkID":"KSV001","title":"t","severity":"HIGH","success":false}]}}`
)

// auditedAs returns an option for a server on which the result of each check is the same; "" for the mapping that is
// built in.
func auditedAs(t *testing.T, result string) func(*apiserver.Options) {
	t.Helper()
	var files []string
	if result != "" {
		text := string(testkit.Must(os.ReadFile("testdata/mappings.yaml"))(t))
		text = strings.NewReplacer("example.com", "aquasecurity.github.io", "v1", "v1alpha1", "Finding", "ConfigAuditReport", "findings", "configauditreports",
			"object.items", "object.report.checks", "item.policy", "item.checkID", "item.result", `"'`+result+`'"`).Replace(text)
		files = []string{filepath.Join(t.TempDir(), "mappings.yaml")}
		testkit.NoError(t, os.WriteFile(files[0], []byte(text), 0o600))
	}
	return func(o *apiserver.Options) {
		o.Storage.CustomResources = []string{filepath.Join("..", "..", "plane", "sample", "trivy", "definitions.yaml")}
		o.Storage.ResultMappings = files
	}
}

// audited returns the outcome of the only result.
func audited(t *testing.T, s *testServer) any {
	t.Helper()
	items, _ := at(t, ask(t, s, http.StatusOK, http.MethodGet, "/apis/results.docket.dev/v1alpha1/policyresults", ""), "items").([]any)
	if len(items) != 1 {
		t.Fatalf("there are %d results, want 1", len(items))
	}
	got, _ := items[0].(map[string]any)
	return got["result"]
}

// reopened opens the reports of a server as commands do.
func reopened(t *testing.T, url string, option func(*apiserver.Options)) *apiserver.Reports {
	t.Helper()
	o := apiserver.NewLocalOptions()
	option(o)
	o.Storage.Database = url
	return testkit.Must(apiserver.OpenReports(t.Context(), o.Storage))(t)
}

// TestRemadeByMapping: a server that starts with another mapping makes the results of stored objects again by it, and
// those that docket migrate results has made only if that had another one.
func TestRemadeByMapping(t *testing.T) {
	t.Parallel()
	url := databases()["sqlite"](t)
	s := startServer(t, url, auditedAs(t, ""))
	ask(t, s, http.StatusCreated, http.MethodPost, auditReports, auditReport)
	if got := audited(t, s); got != "fail" {
		t.Fatalf("by the mapping that is built in the result is %v", got)
	}
	s.stop()
	warns := auditedAs(t, "warn")
	s = startServer(t, url, warns)
	testkit.Eventually(t, "the result is by the new mapping", func() bool { return audited(t, s) == "warn" })
	testkit.Eventually(t, "it is known that it is", func() bool {
		_, _, metrics := send(t, s, http.MethodGet, "/metrics", "")
		return strings.Contains(metrics, "docket_apiserver_results_outdated 0")
	})
	s.stop()
	reports := reopened(t, url, auditedAs(t, "skip"))
	testkit.NoError(t, reports.RebuildResults(t.Context(), nil))
	testkit.NoError(t, reports.Close())
	s = startServer(t, url, warns)
	testkit.Eventually(t, "what the command made by another mapping is made again", func() bool { return audited(t, s) == "warn" })
}

// TestMappingsOfReplicas: while replicas have different mappings, each makes what it writes by its own, and the others'
// rows stay; once the older one is gone, the newer one makes them again.
func TestMappingsOfReplicas(t *testing.T) {
	t.Parallel()
	url := databases()["postgres"](t)
	a := startServer(t, url, auditedAs(t, ""))
	ask(t, a, http.StatusCreated, http.MethodPost, auditReports, auditReport)
	b := startServer(t, url, auditedAs(t, "warn"))
	reports := reopened(t, url, auditedAs(t, ""))
	defer func() { testkit.NoError(t, reports.Close()) }()
	testkit.Eventually(t, "both say which mappings they have", func() bool {
		return len(testkit.Must(apiserver.Notes(t.Context(), reports, "wishes", "mappings"))(t)) == 3 // And what is agreed on.
	})
	if got := audited(t, b); got != "fail" {
		t.Errorf("beside a replica with the mapping that is built in the result is %v", got)
	}
	a.stop()
	testkit.Eventually(t, "the result is by the mapping of the replica that is left", func() bool { return audited(t, b) == "warn" })
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
