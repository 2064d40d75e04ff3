// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/apiserver"
)

const resultsGroup = "results.docket.dev"

// TestResultsRole: who may read reports may do with results what is served, and what is served is announced. Results
// of other clusters are for a role of their own.
func TestResultsRole(t *testing.T) {
	t.Parallel()
	s := startServer(t, databases()["sqlite"](t))
	var list struct {
		Items []struct {
			metav1.ObjectMeta `json:"metadata"`

			Rules []rbacv1.PolicyRule `json:"rules"`
		} `json:"items"`
	}
	answer := s.do(t, http.MethodGet, "/bootstrap/"+resultsGroup+"?output=json", nil).want(t, http.StatusOK)
	testkit.NoError(t, json.Unmarshal(answer.body, &list))
	allowed := map[string][]string{}
	for _, object := range list.Items {
		for _, rule := range object.Rules {
			if !slices.Contains(rule.APIGroups, resultsGroup) {
				continue
			}
			for _, resource := range rule.Resources {
				role := "docket:reports-view"
				if strings.HasPrefix(resource, "fleet") || resource == "clustersummaries" {
					role = "docket:fleet-view"
				}
				if object.Name != role {
					t.Errorf("%s has a rule about %s, which is for %s", object.Name, resource, role)
				}
				allowed[resource] = rule.Verbs
			}
		}
	}
	var served metav1.APIResourceList
	testkit.NoError(t, json.Unmarshal(s.do(t, http.MethodGet, "/apis/"+resultsGroup+"/v1alpha1", nil).want(t, http.StatusOK).body, &served))
	announced := map[string][]string{}
	for i := range served.APIResources {
		announced[served.APIResources[i].Name] = served.APIResources[i].Verbs
	}
	testkit.NoDiff(t, cmp.Diff(announced, allowed), "verbs of the roles (-announced +allowed)")
}

// TestWithoutResults: where there are no result rows, the group is absent, and the server looks whether it is
// registered all the same.
func TestWithoutResults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*apiserver.StorageOptions)
		served bool
	}{
		"by default":             {func(*apiserver.StorageOptions) {}, true},
		"groups of reports":      {func(o *apiserver.StorageOptions) { o.APIGroups = []string{"openreports.io"} }, true},
		"no rows":                {func(o *apiserver.StorageOptions) { o.ResultRows = false }, false},
		"ephemeral reports only": {func(o *apiserver.StorageOptions) { o.APIGroups = []string{"reports.kyverno.io"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := clusterOptions(t, newestCluster().start(t))
			test.change(options.Storage)
			config := testkit.Must(options.Complete().Config(t.Context()))(t)
			completed := testkit.Must(config.Complete())(t)
			server := testkit.Must(completed.New(t.Context()))(t)
			s := runServer(t, server)
			code := http.StatusNotFound
			if test.served {
				code = http.StatusOK
			}
			s.do(t, http.MethodGet, "/bootstrap/"+resultsGroup, nil).want(t, code)
			s.do(t, http.MethodGet, "/apis/"+resultsGroup+"/v1alpha1", nil).want(t, code)
			for _, status := range config.Registration.Statuses() {
				if want := status.Group != resultsGroup || test.served; status.Served != want {
					t.Errorf("/registration says of %s that it is served: %t, want %t", status.Group, status.Served, want)
				}
			}
			if config.ServesResults() != test.served {
				t.Errorf("the group is served: %t, want %t", !test.served, test.served)
			}
		})
	}
	config := &apiserver.Config{DatabaseURL: "etcd://localhost", ResultRows: true, APIGroups: []string{"openreports.io"}}
	if config.ServesResults() {
		t.Error("results are served from etcd")
	}
}
