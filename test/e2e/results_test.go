// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const resultsGroup = "results.docket.dev"

// TestResults: results through kube-apiserver. Its RBAC says who sees which, and its controllers, which look at every
// resource of the cluster, are not disturbed by objects that nobody has stored.
func TestResults(t *testing.T) {
	t.Parallel()
	database := testenv.Postgres(t).Database(t)
	serveOther(t, database)
	b := newBootstrapped(t, "--database="+database, "--cluster="+ownShare)
	b.kubectl.RunInput(t, b.list(t, "ca.crt"), "create", "-f", "-")
	b.serveAsItself(t)
	waitUntil(t, "the cluster serves all groups, results among them", func() bool {
		resources := b.kubectl.Try(t, "", "api-resources", "-o", "name")
		return resources.Code == 0 && strings.Contains(resources.Stdout, "resultqueries."+resultsGroup)
	})
	// What was said before is about a server that had not started.
	before := len(b.ControllersLog())
	for _, namespace := range []string{"team-a", "team-b"} {
		b.EnsureNamespace(t, namespace)
		b.kubectl.RunInput(t, reportWithResult("PolicyReport", "of-"+namespace), "create", "--namespace", namespace, "-f", "-")
	}
	b.kubectl.RunInput(t, reportWithResult("ClusterPolicyReport", "of-nobody"), "create", "-f", "-")
	b.kubectl.Run(t, "create", "rolebinding", "viewer", "--namespace", "team-a", "--clusterrole=view", "--user=viewer")
	b.kubectl.Run(t, "create", "clusterrolebinding", "auditor", "--clusterrole=view", "--user=auditor")
	b.kubectl.Run(t, "create", "clusterrolebinding", "steward", "--clusterrole=docket:fleet-view", "--user=steward")
	waitUntil(t, "the roles are aggregated", func() bool {
		may := b.kubectl.As("auditor").Try(t, "", "auth", "can-i", "list", "clusterpolicyresults."+resultsGroup)
		return strings.TrimSpace(may.Stdout) == "yes"
	})

	t.Run("who sees what", b.testWhoSeesResults)
	t.Run("all clusters", func(t *testing.T) { b.testFleet(t, database) })
	t.Run("console", b.testConsole)
	t.Run("discovery", b.testResultsDiscovery)
	t.Run("quota", b.testResultsQuota)
	t.Run("garbage", b.testResultsGarbage)
	t.Run("namespace", func(t *testing.T) {
		deleteNamespace(t, b.Cluster, "team-b")
		waitNamespaceGone(t, b.Cluster, "team-b")
		if got := b.kubectl.Run(t, "get", "policyresults", "--all-namespaces", "-o", "jsonpath={.items[*].metadata.namespace}"); got != "team-a" {
			t.Errorf("results are left in namespaces %q, want team-a", got)
		}
	})
	// Lines of information are about all groups; what begins with another letter is a warning or an error.
	for line := range strings.Lines(b.ControllersLog()[before:]) {
		if strings.Contains(line, resultsGroup) && !strings.HasPrefix(line, "I") {
			t.Errorf("kube-controller-manager complains: %s", line)
		}
	}
}

// TestResultsNotServed: a server without result rows says so if results are registered all the same, and until when.
func TestResultsNotServed(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	b := newBootstrapped(t, "--result-rows=false", "--registration-check-interval=1s")
	b.kubectl.RunInput(t, b.list(t, "ca.crt"), "create", "-f", "-")
	b.serveAsItself(t)
	waitRegistration(t, b.replica, resultsGroup, "not_served")
	shown := testkit.Must(b.replica.Client(t).Get().AbsPath("/registration").DoRaw(t.Context()))(t)
	wantOutput(t, string(shown), "has no result rows (--result-rows)", "Delete the APIService")
	b.kubectl.Run(t, "delete", "apiservice", "v1alpha1."+resultsGroup)
	waitRegistration(t, b.replica, resultsGroup)
}

// reportWithResult is a report with one failing result, whose policy is called as the report.
func reportWithResult(kind, name string) string {
	return fmt.Sprintf(`{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":%q,"metadata":{"name":%q},"summary":{"fail":1},"results":[
{"source":"kyverno","policy":%q,"rule":"r","result":"fail","severity":"high","message":"m",
"resources":[{"apiVersion":"v1","kind":"Pod","name":"web","namespace":"default"}]}]}`, kind, name, name)
}

// query is a question of a kind that asks for the policies of all results.
func query(kind string) string {
	return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"spec":{"groupBy":["policy"]}}`, resultsGroup+"/v1alpha1", kind)
}

// testWhoSeesResults: view in a namespace shows what its reports do, and nothing else; view everywhere shows
// everything.
func (b *bootstrapped) testWhoSeesResults(t *testing.T) {
	type ask struct {
		arguments []string
		input     string
	}
	get := func(arguments ...string) ask {
		return ask{arguments: append([]string{"get", "-o", "yaml"}, arguments...)}
	}
	create := func(kind string, arguments ...string) ask {
		// kubectl asks for CRDs before it validates a kind that can't be patched, and only administrators may list those.
		return ask{append([]string{"create", "--validate=false", "-o", "yaml", "-f", "-"}, arguments...), query(kind)}
	}
	both, all := []string{"of-team-a", "of-team-b"}, []string{"of-nobody", "of-team-a", "of-team-b"}
	for name, test := range map[string]struct {
		ask ask
		// viewer and auditor are the reports that they see; nil is 403. The steward may see what all clusters have,
		// and nothing else.
		viewer, auditor []string
	}{
		"results":                      {get("policyresults", "-n", "team-a"), both[:1], both[:1]},
		"results by name":              {get("pres", b.resultName(t, "team-a"), "-n", "team-a"), both[:1], both[:1]},
		"results of another namespace": {get("policyresults", "-n", "team-b"), nil, both[1:]},
		"one of another namespace":     {get("pres", b.resultName(t, "team-b"), "-n", "team-b"), nil, both[1:]},
		"results of all namespaces":    {get("policyresults", "-A"), nil, both},
		"results outside":              {get("clusterpolicyresults"), nil, all[:1]},
		"summaries":                    {get("policysummaries", "-n", "team-a"), both[:1], both[:1]},
		"summaries elsewhere":          {get("policysummaries", "-A"), nil, both},
		"summaries of the cluster":     {get("clusterpolicysummaries"), nil, all},
		"summaries of resources":       {get("resourcesummaries", "-n", "team-a"), []string{}, []string{}},
		"summaries of other resources": {get("resourcesummaries", "-n", "team-b"), nil, []string{}},
		"summary of a namespace":       {get("namespacesummaries", "-n", "team-a"), []string{}, []string{}},
		"summary of another":           {get("namespacesummaries", "-n", "team-b"), nil, []string{}},
		"a query":                      {create("LocalResultQuery", "-n", "team-a"), both[:1], both[:1]},
		"a query elsewhere":            {create("LocalResultQuery", "-n", "team-b"), nil, both[1:]},
		"a query everywhere":           {create("ResultQuery"), nil, all},
		"summaries of clusters":        {get("clustersummaries"), nil, nil},
		"a query to all clusters":      {create("FleetQuery"), nil, nil},
	} {
		var steward []string
		switch name {
		case "summaries of clusters":
			steward = []string{}
		case "a query to all clusters":
			steward = all
		}
		for user, want := range map[string][]string{"viewer": test.viewer, "auditor": test.auditor, "stranger": nil, "steward": steward} {
			got := b.kubectl.As(user).Try(t, test.ask.input, test.ask.arguments...)
			if want == nil {
				if got.Code == 0 || !strings.Contains(got.Stderr, "Forbidden") || strings.Contains(got.Stdout, "of-") {
					t.Errorf("%s for %s: %d %s%s, want 403", name, user, got.Code, got.Stdout, got.Stderr)
				}
				continue
			}
			seen := slices.DeleteFunc(slices.Clone(all), func(report string) bool { return !strings.Contains(got.Stdout, "policy: "+report) })
			if got.Code != 0 || !slices.Equal(seen, want) {
				t.Errorf("%s for %s: %d, shows %v, want %v\n%s%s", name, user, got.Code, seen, want, got.Stdout, got.Stderr)
			}
		}
	}
	for _, verb := range []string{"create", "update", "patch", "delete", "deletecollection", "watch"} {
		may := b.kubectl.As("auditor").Try(t, "", "auth", "can-i", verb, "policyresults."+resultsGroup)
		if strings.TrimSpace(may.Stdout) != "no" {
			t.Errorf("who has view may %s results: %s%s", verb, may.Stdout, may.Stderr)
		}
	}
}

// resultName is the name of the only result in a namespace.
func (b *bootstrapped) resultName(t *testing.T, namespace string) string {
	t.Helper()
	return b.kubectl.Run(t, "get", "policyresults", "--namespace", namespace, "-o", "jsonpath={.items[0].metadata.name}")
}

// testResultsDiscovery: kubectl knows the kinds, explains them, and says what can't be done with them.
func (b *bootstrapped) testResultsDiscovery(t *testing.T) {
	if found := b.undiscovered(t); found != "" {
		t.Error(found)
	}
	wantOutput(t, b.kubectl.Run(t, "explain", "policyresults"), "GROUP:      results.docket.dev", "policy\t<string>")
	wantOutput(t, b.kubectl.Run(t, "explain", "resultqueries.spec"), "groupBy")
	wantOutput(t, b.kubectl.Run(t, "get", "pres", "-n", "team-a"), "RESULT", "of-team-a")
	name := b.resultName(t, "team-a")
	const notAllowed = "the server does not allow this method on the requested resource"
	b.kubectl.Refused(t, "", []string{`watch is not supported on resources of kind "policyresults.results.docket.dev"`}, "get", "pres", "-n", "team-a", "--watch")
	for _, arguments := range [][]string{
		{"delete", "pres", "-n", "team-a", name}, {"delete", "pres", "-n", "team-a", "--all"},
		{"label", "pres", "-n", "team-a", name, "a=b"}, {"get", "resultqueries"},
	} {
		b.kubectl.Refused(t, "", []string{notAllowed}, arguments...)
	}
	if got := b.resultName(t, "team-a"); got != name {
		t.Errorf("the result is called %q now, and was %q", got, name)
	}
}

// undiscovered says what is missing in discovery as kubectl reads it; "" if nothing is.
func (b *bootstrapped) undiscovered(t *testing.T) string {
	t.Helper()
	got := b.kubectl.Run(t, "api-resources", "--api-group="+resultsGroup, "-o", "wide", "--no-headers")
	for _, want := range []string{"policyresults", "clusterpolicyresults", "policysummaries", "clusterpolicysummaries", "namespacesummaries", "resourcesummaries", "resultqueries", "localresultqueries", "clustersummaries", "fleetqueries"} {
		if !slices.ContainsFunc(strings.Split(got, "\n"), func(line string) bool { return strings.HasPrefix(line, want+" ") }) {
			return want + " is not in\n" + got
		}
	}
	return ""
}

// testResultsQuota: a quota that names results counts nothing, and does no harm to what it counts beside them.
func (b *bootstrapped) testResultsQuota(t *testing.T) {
	const results = "count/policyresults." + resultsGroup
	b.EnsureNamespace(t, "bounded")
	one := *apiresource.NewQuantity(1, apiresource.DecimalSI)
	testkit.Must(b.Client(t).CoreV1().ResourceQuotas("bounded").Create(t.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "reports"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{countedReports: one, results: one}},
	}, metav1.CreateOptions{}))(t)
	waitUsed(t, b.Cluster, 0)
	b.kubectl.RunInput(t, reportWithResult("PolicyReport", "first"), "create", "--namespace", "bounded", "-f", "-")
	waitUsed(t, b.Cluster, 1)
	got := b.kubectl.Try(t, reportWithResult("PolicyReport", "second"), "create", "--namespace", "bounded", "-f", "-")
	if got.Code == 0 || !strings.Contains(got.Stderr, "exceeded quota: reports") {
		t.Errorf("the second report of one: %d %s%s", got.Code, got.Stdout, got.Stderr)
	}
	// A query is created, and counted by no quota.
	for range 2 {
		b.kubectl.RunInput(t, query("LocalResultQuery"), "create", "--namespace", "bounded", "-o", "name", "-f", "-")
	}
	b.kubectl.Run(t, "delete", "namespace", "bounded", "--timeout=3m")
}

// testResultsGarbage: results name their report as owner, which neither keeps the report nor lets anything go that it
// should not.
func (b *bootstrapped) testResultsGarbage(t *testing.T) {
	const namespace = "garbage"
	b.EnsureNamespace(t, namespace)
	maps := b.Client(t).CoreV1().ConfigMaps(namespace)
	owner := testkit.Must(maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{}))(t)
	r := policyReports(t, b.Cluster, namespace)
	r.create(t, "owned", ownedBy("v1", "ConfigMap", owner.Name, owner.UID))
	r.create(t, "kept")
	r.create(t, "orphan", ownedBy("v1", "ConfigMap", "never", "00000000-0000-4000-8000-000000000000"))
	waitGarbageKnown(t, r)
	testkit.NoError(t, maps.Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	r.waitGone(t, "owned")
	// In the foreground: an owner waits for what it owns, and nobody could delete a result.
	foreground := metav1.DeletePropagationForeground
	testkit.NoError(t, r.Delete(t.Context(), "kept", metav1.DeleteOptions{PropagationPolicy: &foreground}))
	r.waitGone(t, "kept")
	if got := b.kubectl.Run(t, "get", "policyresults", "--namespace", namespace, "-o", "name"); got != "" {
		t.Errorf("results of reports that are gone: %s", got)
	}
}
