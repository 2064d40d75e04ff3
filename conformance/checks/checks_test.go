// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/conformancetest"
	"github.com/docket-project/docket/conformance/runner"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestGoodServers: all checks pass that apply.
func TestGoodServers(t *testing.T) {
	if testing.Short() {
		t.Parallel()
	}
	for _, test := range []struct {
		version   schema.GroupVersion
		resources []string
	}{
		{examples, []string{"widgets", "gadgets"}},
		{schema.GroupVersion{Version: "v1"}, []string{"configmaps"}},
		{schema.GroupVersion{Group: "wgpolicyk8s.io", Version: "v1alpha2"}, []string{"policyreports", "clusterpolicyreports"}},
		{schema.GroupVersion{Group: "openreports.io", Version: "v1alpha1"}, []string{"reports", "clusterreports"}},
		{schema.GroupVersion{Group: "reports.kyverno.io", Version: "v1"}, []string{"ephemeralreports", "clusterephemeralreports"}},
		{results, nil},
	} {
		t.Run(test.version.String(), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && test.version != examples {
				t.Skip("-short: the kinds of the examples have all the features")
			}
			options := options(t, test.version, test.resources...)
			if testing.Short() {
				options.Checks = conformancetest.Hurry(options.Checks)
			}
			report := testkit.Must(runner.Run(t.Context(), options))(t)
			wantAllPassed(t, report)
			t.Logf("%d passed in %v", report.Count(runner.Passed), report.Duration)
		})
	}
}

// wantAllPassed fails unless all checks have passed that apply, and everything was removed.
func wantAllPassed(t *testing.T, report *runner.Report) {
	t.Helper()
	for i := range report.Results {
		switch result := &report.Results[i]; result.Outcome {
		case runner.Passed:
		case runner.Failed:
			t.Errorf("%s (%s): %v", result.Check.ID, result.Resource, result.Failure)
		case runner.Undecided:
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
}

// Clients can only read results, and only create questions.
var results = schema.GroupVersion{Group: "results.docket.dev", Version: "v1alpha1"}

// TestShownOnly: what is checked of objects that clients don't create is found wrong in servers that break the rules,
// and what can't be checked is left out with a reason.
func TestShownOnly(t *testing.T) {
	t.Parallel()
	shown := []string{"list-kind", "list-resource-version", "list-complete", "list-items", "list-pages", "table-list", "metadata-list", "list-field-selector-unknown", "table-fallback"}
	options := options(t, results, "policyresults", "resultqueries")
	report := testkit.Must(runner.Run(t.Context(), options))(t)
	var passed []string
	for i := range report.Results {
		switch result := &report.Results[i]; {
		case result.Outcome == runner.Passed && result.Resource == "policyresults":
			passed = append(passed, result.Check.ID)
		case result.Outcome == runner.Skipped && result.Reason == "":
			t.Errorf("%s (%s) is left out without a reason", result.Check.ID, result.Resource)
		}
	}
	for _, id := range shown {
		if !slices.Contains(passed, id) {
			t.Errorf("%s is not checked, or not passed: %v", id, passed)
		}
	}
	// In place of servers that break what results don't have: a spec, and objects that are newer than all.
	others := map[string]broken.Server{
		"list-complete":         broken.That("lists results without their policy", onItems(func(item map[string]any) { delete(item, "policy") })),
		"list-resource-version": broken.That("has lists without a resourceVersion", onLists(broken.And(), func(list map[string]any, _ []any) { delete(broken.FieldsOf(list, "metadata"), "resourceVersion") })),
	}
	servers := brokenServers()
	maps.Copy(servers, others)
	for _, id := range shown {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			options := options
			options.Only, options.Resources = []string{id}, []string{"policyresults"}
			if err := conformancetest.Prove(t.Context(), options, id, servers[id]); err != nil {
				t.Errorf("the server %s:\n%v", servers[id].What, err)
			}
		})
	}
}

// brokenServers returns the servers that break a rule, by the identifiers of the checks that fail there.
func brokenServers() map[string]broken.Server {
	servers := map[string]broken.Server{}
	for _, area := range []func() map[string]broken.Server{
		brokenAccess, brokenApplies, brokenBodies, brokenCreates, brokenDeletes, brokenDiscovery, brokenDryruns, brokenFormats, brokenHealth, brokenLists, brokenNamespaces,
		brokenOpenapi, brokenPatches, brokenReads, brokenStatuses, brokenUpdates, brokenValues, brokenVersions, brokenWatches,
	} {
		maps.Copy(servers, area())
	}
	return servers
}

// TestEachRule: each rule has a server that breaks it, and each server a rule.
func TestEachRule(t *testing.T) {
	servers := brokenServers()
	maps.Copy(servers, conformancetest.NeedControllers())
	for _, check := range All() {
		if servers[check.ID].Break == nil {
			t.Errorf("no server breaks the rule of %s: the check could be one that never fails", check.ID)
		}
		delete(servers, check.ID)
	}
	for id := range servers {
		t.Errorf("there is no check %s for the server that breaks its rule", id)
	}
}

// TestBrokenServers: each check fails on a server that breaks its rule, and no other check does. Those
// that need the controllers of a cluster are proven in test/e2e. With -short, only the first half is proven: no
// check runs but the server's own.
func TestBrokenServers(t *testing.T) {
	if testing.Short() {
		t.Parallel()
	}
	servers := brokenServers()
	options := options(t, examples, "widgets")
	options.Skip = slices.Collect(maps.Keys(conformancetest.NeedControllers()))
	options.Samples = []*unstructured.Unstructured{widget()} // Some servers have no schema.
	prove := func(ctx context.Context, id string, server broken.Server) error {
		options := options
		options.Only, options.Checks = []string{id}, conformancetest.Hurry(options.Checks, id)
		return conformancetest.Prove(ctx, options, id, server)
	}
	if !testing.Short() {
		baseline, report := testkit.Must2(conformancetest.Record(t.Context(), options))(t)
		wantAllPassed(t, report)
		prove = func(ctx context.Context, id string, server broken.Server) error {
			return baseline.Prove(ctx, options, id, server)
		}
	}
	if !testing.Short() {
		t.Run("two rules", func(t *testing.T) {
			t.Parallel()
			err := prove(t.Context(), "get-not-found", broken.That("breaks the rule of another check, too", func(next http.Handler) http.Handler {
				return servers["get-not-found"].Break(servers["create-status-code"].Break(next))
			}))
			if err == nil || !strings.Contains(err.Error(), "create-status-code (widgets) fails, too") {
				t.Errorf("it is not noticed: %v", err)
			}
		})
	}
	for id, server := range servers {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			if err := prove(t.Context(), id, server); err != nil {
				t.Errorf("the server %s:\n%v", server.What, err)
			}
		})
	}
}
