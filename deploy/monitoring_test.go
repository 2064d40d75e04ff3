// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// rule is an alert, or records the values of an expression under a name.
type rule struct {
	Alert, Record, Expr string
	Labels, Annotations map[string]string
}

type ruleGroups struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

// alertsOf returns the rules of a manifest, and the file that Prometheus itself would read.
func alertsOf(t testing.TB, path string) (rules []rule, file []byte) {
	t.Helper()
	var object struct{ Spec json.RawMessage }
	read(t, path, &object)
	var groups ruleGroups
	testkit.NoError(t, json.Unmarshal(object.Spec, &groups))
	for _, group := range groups.Groups {
		rules = append(rules, group.Rules...)
	}
	if len(rules) < 5 {
		t.Fatalf("%d rules only in %s", len(rules), path)
	}
	return rules, object.Spec
}

const (
	serverAlerts     = "chart/monitoring/prometheusrule.yaml"
	serverDashboard  = "chart/monitoring/dashboard.json"
	resultsAlerts    = "chart/monitoring/results-prometheusrule.yaml"
	resultsDashboard = "chart/monitoring/results-dashboard.json"
)

// serverRules are all rules on metrics of the server.
func serverRules(t testing.TB) []rule {
	t.Helper()
	rules, _ := alertsOf(t, serverAlerts)
	results, _ := alertsOf(t, resultsAlerts)
	return append(rules, results...)
}

// serverExpressions are those of all rules and dashboards on metrics of the server.
func serverExpressions(t testing.TB) []string {
	t.Helper()
	expressions := append(dashboardExpressions(readDashboard(t, serverDashboard)), dashboardExpressions(readDashboard(t, resultsDashboard))...)
	for _, r := range serverRules(t) {
		expressions = append(expressions, r.Expr)
	}
	return expressions
}

func read(t testing.TB, path string, into any) {
	t.Helper()
	data := testkit.Must(os.ReadFile(path))(t)
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestAlerts runs promtool's checks, and its tests of alerts in testdata.
func TestAlerts(t *testing.T) {
	t.Parallel()
	for alerts, tests := range map[string]string{serverAlerts: "testdata/alerts.yaml", resultsAlerts: "testdata/results-alerts.yaml"} {
		_, rules := alertsOf(t, alerts)
		checkAlerts(t, rules, tests)
	}
}

func checkAlerts(t *testing.T, rules []byte, testFile string) {
	t.Helper()
	tests := testkit.Must(os.ReadFile(testFile))(t)
	dir := t.TempDir()
	for name, content := range map[string][]byte{"rules.yaml": rules, "tests.yaml": tests} {
		testkit.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	run(t, promTool, "check", "rules", filepath.Join(dir, "rules.yaml"))
	run(t, promTool, "test", "rules", filepath.Join(dir, "tests.yaml"))
}

// TestAlertsAreExplained wants texts, and a section for each alert in docs/operate/alerts.md.
func TestAlertsAreExplained(t *testing.T) {
	t.Parallel()
	page := testkit.Must(os.ReadFile(filepath.Join(root, "docs", "operate", "alerts.md")))(t)
	ofController, _ := alertsOf(t, controllerAlerts)
	rules := slices.DeleteFunc(append(serverRules(t), ofController...), func(r rule) bool { return r.Record != "" })
	for _, r := range rules {
		for _, annotation := range []string{"summary", "description"} {
			if r.Annotations[annotation] == "" {
				t.Errorf("%s has no %s", r.Alert, annotation)
			}
		}
		if want := "docs/operate/alerts.md#" + strings.ToLower(r.Alert); r.Annotations["runbook"] != want {
			t.Errorf("%s: runbook %q, want %q", r.Alert, r.Annotations["runbook"], want)
		}
		if !strings.Contains(string(page), "\n### "+r.Alert+"\n") {
			t.Errorf("docs/operate/alerts.md has no section %s", r.Alert)
		}
		if !slices.Contains([]string{"critical", "warning"}, r.Labels["severity"]) {
			t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
		}
	}
	if sections := strings.Count(string(page), "\n### "); sections != len(rules) {
		t.Errorf("docs/operate/alerts.md has %d sections for %d alerts", sections, len(rules))
	}
}

// panel of a Grafana dashboard.
type panel struct {
	ID          int
	Type, Title string
	Description string
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct{ Expr, RefID string }
}

type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Panels        []panel
	Templating    struct {
		List []struct{ Name, Type, Definition string }
	}
}

func readDashboard(t testing.TB, path string) dashboard {
	t.Helper()
	var d dashboard
	read(t, path, &d)
	if d.UID == "" || d.Title == "" || d.SchemaVersion < 39 || len(d.Panels) < 10 {
		t.Fatalf("uid %q, title %q, schema %d, %d panels", d.UID, d.Title, d.SchemaVersion, len(d.Panels))
	}
	return d
}

// TestDashboard checks the layout, each query with promtool, and that dashboards get into the cluster.
func TestDashboard(t *testing.T) {
	t.Parallel()
	all := kustomize(t, "testdata/monitoring")
	for name, path := range map[string]string{"docket": serverDashboard, "docket-results": resultsDashboard} {
		checkDashboard(t, readDashboard(t, path))
		object := all["ConfigMap "+name+"-dashboard"]
		if object == nil {
			t.Errorf("there is no ConfigMap for %s", path)
			continue
		}
		made := convert[corev1.ConfigMap](t, object)
		if made.Labels["grafana_dashboard"] != "1" || made.Data[name+".json"] != text(t, path) {
			t.Errorf("%s: labels %v, %d bytes", path, made.Labels, len(made.Data[name+".json"]))
		}
	}
}

// TestResultsCanBeLeftOut looks at what a chart without alerts about results lacks.
func TestResultsCanBeLeftOut(t *testing.T) {
	t.Parallel()
	with, without := helm(t, namespace, "monitoring.enabled=true"), helm(t, namespace, "monitoring.enabled=true", "monitoring.results=false")
	for name := range with {
		isResults := name == "PrometheusRule docket-results" || name == "ConfigMap docket-results-dashboard"
		if (without[name] == nil) != isResults {
			t.Errorf("without results, there is %s: %v", name, without[name] != nil)
		}
	}
}

func checkDashboard(t *testing.T, d dashboard) {
	t.Helper()
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: id %d is another panel's", p.Title, p.ID)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%q overlaps %q, or is beyond the edge", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && (len(p.Targets) == 0 || p.Description == "") {
			t.Errorf("%s has no query, or no description", p.Title)
		}
	}
	// Rules with the same expressions; promtool parses these.
	var records []map[string]string
	for i, query := range queries(d) {
		records = append(records, map[string]string{"record": fmt.Sprintf("q%d", i), "expr": query})
	}
	rules := testkit.Must(yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "queries", "rules": records}}}))(t)
	path := filepath.Join(t.TempDir(), "queries.yaml")
	testkit.NoError(t, os.WriteFile(path, rules, 0o600))
	run(t, promTool, "check", "rules", path)
}

// queries returns all expressions with Grafana's variables filled in.
func queries(d dashboard) []string {
	fill := strings.NewReplacer("$__rate_interval", "5m", "$job", "docket", "$instance", ".*",
		"$source", ".*", "$severity", ".*", "$namespace", ".*")
	var all []string
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, fill.Replace(target.Expr))
		}
	}
	return all
}

// dashboardExpressions are the queries, and those of variables.
func dashboardExpressions(d dashboard) []string {
	expressions := queries(d)
	for _, variable := range d.Templating.List {
		if inner, ok := strings.CutPrefix(variable.Definition, "label_values("); ok {
			expressions = append(expressions, strings.Split(inner, ",")[0])
		}
	}
	return expressions
}

// elsewhere are metrics of others, and those that a server shows only beside a
// cluster. Those that test/e2e can see, it looks for.
func elsewhere() []string {
	return []string{
		"up",                                // Prometheus itself
		"aggregator_unavailable_apiservice", // kube-apiserver; test/e2e
		"docket_apiserver_certificate_expiry_timestamp_seconds", // a server that renews its certificate; internal/server/apiserver
		"docket_apiserver_registration_problem",                 // a server with a cluster; test/e2e
		"docket_apiserver_unmet_requirement",                    // a server whose cluster lacks something; test/e2e
		"kubelet_volume_stats_available_bytes",                  // kubelet
		"kubelet_volume_stats_capacity_bytes",                   // kubelet
	}
}

// TestMetricsExist compares the metrics that alerts and dashboard name with those of a
// server.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	served := servedMetrics(t)
	for _, r := range serverRules(t) {
		if r.Record != "" {
			served[r.Record] = true
		}
	}
	used := map[string]bool{}
	for _, expression := range serverExpressions(t) {
		names := metricNames(expression)
		if len(names) == 0 {
			t.Errorf("no metric in %s", expression)
		}
		for _, name := range names {
			used[name] = true
			if !served[name] && !slices.Contains(elsewhere(), name) {
				t.Errorf("no server has the metric %s of %s", name, expression)
			}
		}
	}
	for _, name := range elsewhere() {
		if !used[name] {
			t.Errorf("%s is not used: take it off the list", name)
		}
	}
}

var (
	promStrings  = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	promMatchers = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]`)
	promOffset   = regexp.MustCompile(`\boffset\s+-?[0-9a-z]+`)
	promLabels   = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`)
	promNames    = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
)

// metricNames returns the metrics in an expression: identifiers that are neither
// functions nor labels nor operators.
func metricNames(expression string) []string {
	for _, part := range []*regexp.Regexp{promStrings, promMatchers, promOffset, promLabels} {
		expression = part.ReplaceAllString(expression, " ")
	}
	var names []string
	for _, name := range promNames.FindAllString(expression, -1) {
		name = strings.TrimSpace(name)
		if !strings.HasSuffix(name, "(") && !slices.Contains([]string{"and", "or", "unless", "bool"}, name) {
			names = append(names, name)
		}
	}
	return names
}

func TestMetricNames(t *testing.T) {
	t.Parallel()
	for expression, want := range map[string]string{
		`up`:                            "up",
		`absent(up{job="docket"} == 1)`: "up",
		`histogram_quantile(0.99, sum by (le, verb) (rate(a_bucket{verb=~"GET|{x}"}[5m]))) > 1`: "a_bucket",
		`sum(rate(a{code=~"5.."}[$__rate_interval])) / sum by (x) (rate(b[5m])) and on (x) c`:   "a b c",
		`max_over_time(x:a:sum{b="c"}[15m] offset 1h) unless on () count(a offset 1d)`:          "x:a:sum a",
	} {
		if got := strings.Join(metricNames(expression), " "); got != want {
			t.Errorf("%s: %q, want %q", expression, got, want)
		}
	}
}
