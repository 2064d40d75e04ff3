// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// sampled is how many reports the questions are about: each has an answer then.
const sampled = 250

// comparison says how the answer to a known question matches a statement in docs/operate/sql.md.
type comparison struct {
	// number of the statement.
	number   int
	question string
	// columns of the statement that are compared, and what they are in a group: a field of groupBy or an aggregate. "sum"
	// and "pass %" are of all groups that differ only in the field of which the page makes columns, and "=VALUE" is
	// that of one of them.
	columns map[string]string
	// of the groups, those that the statement is about; nil for all.
	of func(row map[string]string) bool
}

func comparisons() []comparison {
	const namespace, kind, name = "report.namespace", "subject.kind", "subject.name"
	of := func(field, value string) func(map[string]string) bool {
		return func(row map[string]string) bool { return row[field] == value }
	}
	return []comparison{
		{1, "Where are the failures, by namespace and severity?", map[string]string{"namespace": namespace, "severity": "severity", "failures": "results"}, nil},
		{3, "Which policies fail most, and in how many namespaces?", map[string]string{"source": "source", "policy": "policy", "failures": "results", "namespaces": "namespaces"}, nil},
		{9, "What share of the checks does each policy pass?", map[string]string{"policy": "policy", "pass_percent": "pass %"}, of("source", "kyverno")},
		{11, "Who produces the results?", map[string]string{"source": "source", "results": "sum", "failures": "=fail"}, nil},
		{12, "How severe are the failures of each namespace?", map[string]string{"namespace": namespace, "critical": "=critical", "high": "=high", "medium": "=medium", "low": "=low"}, nil},
		{13, "Which messages are most frequent?", map[string]string{"source": "source", "message": "message", "results": "results"}, nil},
		{14, "Which policies never fail?", map[string]string{"source": "source", "policy": "policy", "results": "sum"}, func(row map[string]string) bool { return row["=fail"] == "0" && row["=error"] == "0" }},
		{15, "Which resources have critical findings of two sources or more?", map[string]string{"subject_kind": kind, "subject_name": name, "sources": "sources", "findings": "results"}, nil},
		{18, "Which rules can’t be evaluated, and why?", map[string]string{"source": "source", "policy": "policy", "rule": "rule", "message": "message", "errors": "results"}, nil},
		{19, "How many failures were found each day?", map[string]string{"day": "day", "source": "source", "failures": "results"}, func(row map[string]string) bool { return row["day"] != "" }},
		{20, "Which images have the most critical ones?", map[string]string{"image": `properties["artifact.repository"]`, "findings": "results", "vulnerabilities": "policies"}, nil},
	}
}

// TestTwentyQuestions: what the console asks, and shows as a command of kubectl, has the answers that
// docs/operate/sql.md gets from the database of the same server.
func TestTwentyQuestions(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	testkit.NoError(t, testenv.Need(t.Context(), "sqlite3=sqlite3"))
	own := uptest.Server{CustomResources: "../../plane/sample/trivy/definitions.yaml"}
	t.Cleanup(func() {
		if err := own.Stop(); err != nil {
			t.Error(err)
		}
	})
	config := testkit.Must(own.Config(writeSample(sampled)))(t)
	client := testkit.Must(dynamic.NewForConfig(config))(t)
	statements := statementsOfPage(t)
	p := visitAt(t, config, nil)
	p.open("#/questions")
	links := p.questions()
	rows := func(number int) []map[string]any {
		return sqlRows(t, filepath.Join(own.Dir(), "docket.db"), statements[number])
	}
	for _, c := range comparisons() {
		var found []map[string]string
		if strings.HasPrefix(links[c.question], "#/question?") {
			status := answered(t, client, specOf(p, links[c.question]))
			if status.More {
				t.Fatalf("%s: not all groups are answered", c.question)
			}
			found = c.rowsOf(status.Groups)
		} else {
			found = p.countedRows(links[c.question])
		}
		testkit.NoDiff(t, gocmp.Diff(c.expected(rows(c.number)), c.lines(found)), "%d. %s (-SQL +console)", c.number, c.question)
	}
	newest := answered(t, client, specOf(p, links["What failed most recently?"]))
	var got, want []string
	for _, row := range rows(8) {
		want = append(want, fmt.Sprint(row["timestamp"]))
	}
	for i := range min(len(want), len(newest.Results)) {
		got = append(got, newest.Results[i].Timestamp.UTC().Format(time.RFC3339))
	}
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the newest failures are of %v, in SQL of %v", got, want)
	}
}

// writeSample returns what fills a server with reports as `docket up --demo` has them: the first of always the same.
func writeSample(reports int) func(context.Context, *rest.Config) error {
	return writeSampleOf(reports, time.Now())
}

// writeSampleOf is writeSample with reports that were written at a time.
func writeSampleOf(reports int, at time.Time) func(context.Context, *rest.Config) error {
	return func(ctx context.Context, config *rest.Config) error {
		return writeReportsOfSample(ctx, config, sample.Cluster{Seed: 1, Now: at}.Reports(reports))
	}
}

func writeReportsOfSample(ctx context.Context, config *rest.Config, objects iter.Seq[*unstructured.Unstructured]) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	resources := map[string]schema.GroupVersionResource{
		"PolicyReport": reportsResource("policyreports"), "ClusterPolicyReport": reportsResource("clusterpolicyreports"),
		"Report":        {Group: "openreports.io", Version: "v1alpha1", Resource: "reports"},
		"ClusterReport": {Group: "openreports.io", Version: "v1alpha1", Resource: "clusterreports"},

		"VulnerabilityReport": {Group: sample.TrivyGroup, Version: "v1alpha1", Resource: "vulnerabilityreports"},
		"ConfigAuditReport":   {Group: sample.TrivyGroup, Version: "v1alpha1", Resource: "configauditreports"},
	}
	made := map[string]bool{"": true}
	for object := range objects {
		resource, ok := resources[object.GetKind()]
		if !ok {
			continue // Ephemeral reports have no results of their own.
		}
		if name := object.GetNamespace(); !made[name] {
			made[name] = true
			namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
			_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(ctx, namespace, metav1.CreateOptions{})
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
		}
		_, err := client.Resource(resource).Namespace(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{})
		if err != nil && (resource.Group != sample.TrivyGroup || !apierrors.IsNotFound(err)) { // Not all servers here have Trivy's kinds.
			return err
		}
	}
	return nil
}

var (
	statementPattern = regexp.MustCompile("(?s)\n### ([0-9]+)\\. [^\n]*\n.*?```sql(?: sqlite)?\n(.*?)```")
	limitPattern     = regexp.MustCompile(`\nLIMIT [0-9]+`)
)

// statementsOfPage returns the statements of docs/operate/sql.md for SQLite by their numbers. It removes their limits,
// except from the statement for single results.
func statementsOfPage(t *testing.T) map[int]string {
	t.Helper()
	page := testkit.Must(os.ReadFile("../../../docs/operate/sql.md"))(t)
	found := map[int]string{}
	for _, match := range statementPattern.FindAllStringSubmatch(string(page), -1) {
		number := testkit.Must(strconv.Atoi(match[1]))(t)
		if found[number] = match[2]; number != 8 {
			found[number] = limitPattern.ReplaceAllString(match[2], "")
		}
	}
	if len(found) != 20 {
		t.Fatalf("docs/operate/sql.md has %d statements, want 20", len(found))
	}
	return found
}

func sqlRows(t *testing.T, file, statement string) []map[string]any {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "sqlite3", "-readonly", "-json", file, statement).CombinedOutput()
	var rows []map[string]any
	if err == nil {
		err = json.Unmarshal(output, &rows)
	}
	if err != nil || len(rows) == 0 {
		t.Fatalf("%v, %d rows; want some of\n%s\n%.500s", err, len(rows), statement, output)
	}
	return rows
}

// specOf returns the question that a page shows as a command.
func specOf(p *person, hash string) *unstructured.Unstructured {
	p.Helper()
	p.open(hash)
	command := eval[string](p, "document.querySelector('.copy code').textContent")
	text, _, _ := strings.Cut(strings.TrimPrefix(command, "echo '"), "' | kubectl create --validate=false -f -")
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, `'\''`, "'")), &object.Object); err != nil {
		p.Fatalf("%s: %v", command, err)
	}
	return object
}

func answered(t *testing.T, client dynamic.Interface, query *unstructured.Unstructured) v1alpha1.ResultQueryStatus {
	t.Helper()
	resource := map[string]string{"ResultQuery": "resultqueries", "FleetQuery": "fleetqueries"}[query.GetKind()]
	created, err := client.Resource(v1alpha1.SchemeGroupVersion.WithResource(resource)).Create(t.Context(), query, metav1.CreateOptions{})
	var typed v1alpha1.ResultQuery
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(created.Object, &typed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return typed.Status
}

// countedRows returns what all pages of a table of numbers show, as comparison.columns calls it.
func (p *person) countedRows(hash string) []map[string]string {
	p.Helper()
	fields := map[string]string{"policy": "policy", "source": "source", "namespace": "report.namespace"}
	var rows []map[string]string
	for p.open(hash); ; {
		shown := eval[[]map[string]string](p, `[...document.querySelectorAll('main tbody tr')].map((tr) =>
			Object.fromEntries([...tr.cells].map((c) => [c.dataset.title.toLowerCase(), c.innerText.trim().replaceAll(',', '')])))`)
		for _, cells := range shown {
			row, sum := map[string]string{"=low": "0", "=medium": "0"}, 0
			for title, text := range cells {
				row[cmp.Or(fields[title], "="+title)] = text
				if number, err := strconv.Atoi(text); err == nil && fields[title] == "" {
					sum += number
				}
			}
			pass, _ := strconv.ParseFloat(row["=pass"], 64)
			fail, _ := strconv.ParseFloat(row["=fail"], 64)
			// The page rounds down, so that 100 % is all.
			row["sum"], row["pass %"] = fmt.Sprint(sum), fmt.Sprintf("%.1f", 100*pass/(pass+fail))
			rows = append(rows, row)
		}
		next := eval[string](p, "document.querySelector('a.next')?.hash ?? ''")
		if next == "" {
			return rows
		}
		p.open(next)
	}
}

// expected returns the rows of a statement.
func (c *comparison) expected(rows []map[string]any) []string {
	var lines []string
	for _, row := range rows {
		if namespace, ok := row["namespace"]; ok && namespace == "" && c.number == 12 {
			continue // The page is about namespaces only.
		}
		values := map[string]string{}
		for column := range c.columns {
			if row[column] != nil {
				values[column] = fmt.Sprint(row[column])
			}
		}
		lines = append(lines, line(values))
	}
	slices.Sort(lines)
	return lines
}

// rowsOf returns the rows that groups make.
func (c *comparison) rowsOf(groups []v1alpha1.ResultGroup) []map[string]string {
	rows := map[string]map[string]string{}
	for i := range groups {
		group := &groups[i]
		row := map[string]string{"results": fmt.Sprint(group.Results), "=fail": "0", "=error": "0", "=critical": "0", "=high": "0", "=medium": "0", "=low": "0"}
		row["clusters"] = strings.Join(group.ClusterNames, ", ")
		for name, number := range map[string]*int64{"namespaces": group.Namespaces, "policies": group.Policies, "sources": group.Sources} {
			if number != nil {
				row[name] = fmt.Sprint(*number)
			}
		}
		key := ""
		for _, field := range sortedKeys(group.By) {
			if !c.pivots() || field != "result" && field != "severity" {
				row[field] = group.By[field]
				key += field + "=" + group.By[field] + "\n"
			}
		}
		if rows[key] == nil {
			rows[key] = row
		}
		for _, value := range []string{group.By["result"], group.By["severity"]} {
			rows[key]["="+value] = fmt.Sprint(group.Results)
		}
		sum, _ := strconv.ParseInt(rows[key]["sum"], 10, 64)
		rows[key]["sum"] = fmt.Sprint(sum + group.Results)
	}
	return slices.Collect(maps.Values(rows))
}

// lines returns what is compared of rows.
func (c *comparison) lines(rows []map[string]string) []string {
	var lines []string
	for _, row := range rows {
		if c.of != nil && !c.of(row) {
			continue
		}
		values := map[string]string{}
		for column, of := range c.columns {
			values[column] = row[of]
		}
		lines = append(lines, line(values))
	}
	slices.Sort(lines)
	return lines
}

// pivots reports whether the page makes columns of the values of a field.
func (c *comparison) pivots() bool {
	for _, of := range c.columns {
		if of == "sum" || strings.HasPrefix(of, "=") {
			return true
		}
	}
	return false
}

// line is a row as text. Numbers are the same however they are written.
func line(values map[string]string) string {
	var text []string
	for _, column := range sortedKeys(values) {
		value := values[column]
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			value = fmt.Sprint(number)
		}
		text = append(text, column+"="+value)
	}
	return strings.Join(text, "; ")
}

func sortedKeys(of map[string]string) []string { return slices.Sorted(maps.Keys(of)) }
