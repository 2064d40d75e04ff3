// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
	"github.com/docket-project/docket/internal/results/mapping"
	"github.com/docket-project/docket/internal/store/engine"
)

// question is one of docs/operate/sql.md, with its statement for each engine.
type question struct {
	number    int
	title     string
	statement map[string]string
	// none tells that the page says that the demo has no answer.
	none bool
}

var (
	headingPattern = regexp.MustCompile(`^### (\d+)\. (.+)$`)
	fencePattern   = regexp.MustCompile("^```(.*)$")
)

// questions reads docs/operate/sql.md.
func questions(t testing.TB) []question {
	t.Helper()
	page := testkit.Must(os.ReadFile("../../docs/operate/sql.md"))(t)
	var (
		found []question
		fence string
		block []string
	)
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, "\n")
		if match := headingPattern.FindStringSubmatch(line); match != nil {
			found = append(found, question{number: len(found) + 1, title: match[2], statement: map[string]string{}})
			if match[1] != fmt.Sprint(len(found)) {
				t.Fatalf("docs/operate/sql.md: %q is question %d", line, len(found))
			}
			continue
		}
		if strings.Contains(line, "None in ") && strings.HasSuffix(line, " demo.") && len(found) > 0 {
			found[len(found)-1].none = true
		}
		match := fencePattern.FindStringSubmatch(line)
		switch {
		case match == nil:
			block = append(block, line)
		case fence == "":
			fence, block = match[1], nil
		default:
			if strings.HasPrefix(fence, "sql") {
				keep(t, found, fence, strings.Join(block, "\n"))
			}
			fence = ""
		}
	}
	for _, q := range found {
		if len(q.statement) != 2 {
			t.Fatalf("docs/operate/sql.md: question %d has statements for %d engines", q.number, len(q.statement))
		}
	}
	return found
}

func keep(t testing.TB, found []question, fence, text string) {
	t.Helper()
	engines, ok := map[string][]string{
		"sql": {"sqlite", "postgresql"}, "sql sqlite": {"sqlite"}, "sql postgresql": {"postgresql"},
	}[fence]
	if !ok || len(found) == 0 {
		t.Fatalf("docs/operate/sql.md: unexpected block %q", fence)
	}
	for _, name := range engines {
		q := found[len(found)-1]
		if q.statement[name] != "" {
			t.Fatalf("docs/operate/sql.md: question %d has two statements for %s", q.number, name)
		}
		q.statement[name] = text
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	data := dataset{workloads: 800, now: time.Now().UTC().Truncate(time.Second)}
	facts := gather(data)
	asked := questions(t)
	if len(asked) != len(answers()) {
		t.Fatalf("docs/operate/sql.md has %d questions, the tests answer %d", len(asked), len(answers()))
	}
	for _, db := range databases(t) {
		t.Run(db.name, func(t *testing.T) {
			t.Parallel()
			load(t, db, data)
			reader := db.connect(t)
			for i, q := range asked {
				t.Run(fmt.Sprint(q.number), func(t *testing.T) {
					_, got, err := ask(t.Context(), reader, q.statement[db.name])
					if err != nil {
						t.Fatalf("%s: %v", q.title, err)
					}
					want := answers()[i](facts)
					if len(want) == 0 {
						t.Fatalf("%s: the data set has no answer: the test would prove nothing", q.title)
					}
					testkit.NoDiff(t, cmp.Diff(want, got), "%s (-want +got)", q.title)
				})
			}
			testOtherOutcomes(t, db, facts, asked[15].statement[db.name])
			testWholeViews(t, db, facts)
			testSmallViews(t, db, facts)
		})
	}
}

// testOtherOutcomes asks question 16 about the other outcomes, as the page says.
func testOtherOutcomes(t *testing.T, db database, facts *facts, statement string) {
	fail := regexp.MustCompile(`\bfail\b`)
	reader := db.connect(t)
	for _, outcome := range []report.Outcome{report.OutcomePass, report.OutcomeWarn, report.OutcomeError, report.OutcomeSkip} {
		if places := len(fail.FindAllString(statement, -1)); places != 2 {
			t.Fatalf("question 16 has fail in %d places; the page says both", places)
		}
		_, got, err := ask(t.Context(), reader, fail.ReplaceAllString(statement, string(outcome)))
		want := wrongSummariesOf(facts, outcome)
		if diff := cmp.Diff(want, got); err != nil || len(want) == 0 || diff != "" {
			t.Errorf("reports that state other numbers of %s (%d expected): %v (-want +got):\n%s", outcome, len(want), err, diff)
		}
	}
}

// testWholeViews compares every column of every row with the objects.
func testWholeViews(t *testing.T, db database, facts *facts) {
	reader := db.connect(t)
	for _, test := range []struct {
		view    string
		columns string
		want    [][]string
	}{
		{
			"policy_results",
			"cluster namespace report_kind report report_uid result_index source policy rule category severity result scored " +
				"subject_api_version subject_kind subject_namespace subject_name subject_uid message timestamp properties",
			facts.resultRows(),
		},
		{
			"policy_report_summaries",
			"cluster namespace report_kind report uid source scope_api_version scope_kind scope_namespace scope_name scope_uid " +
				"pass fail warn error skip total created_at",
			facts.summaryRows(),
		},
		{
			"policy_result_counts",
			"cluster source policy rule category severity result scored message results",
			facts.countRows(),
		},
		{
			"policy_namespace_counts",
			"cluster namespace report_kind source policy rule category severity result scored results",
			facts.namespaceCountRows(),
		},
	} {
		t.Run(test.view, func(t *testing.T) {
			columns, got := testkit.Must2(ask(t.Context(), reader, "SELECT * FROM "+test.view))(t)
			if diff := cmp.Diff(strings.Fields(test.columns), columns); diff != "" {
				t.Fatalf("columns (-want +got):\n%s", diff)
			}
			if test.view == "policy_result_counts" {
				got = summed(got)
			}
			if properties := len(columns) - 1; columns[properties] == "properties" {
				for _, row := range got {
					row[properties] = compactJSON(t, row[properties])
				}
			}
			compareSets(t, test.want, got)
		})
	}
}

// testSmallViews compares the views with few rows.
func testSmallViews(t *testing.T, db database, facts *facts) {
	reader := db.connect(t)
	t.Run("clusters", func(t *testing.T) {
		_, got, err := ask(t.Context(), reader, "SELECT name, reports, results FROM clusters ORDER BY name")
		if err != nil {
			t.Fatal(err)
		}
		testkit.NoDiff(t, cmp.Diff(facts.clusterRows(), got), "clusters (-want +got)")
		_, got, err = ask(t.Context(), reader, "SELECT count(*) FROM clusters WHERE first_seen IS NULL")
		if err != nil || got[0][0] != "0" {
			t.Errorf("%v clusters were never seen, %v", got, err)
		}
	})
	t.Run("version", func(t *testing.T) {
		_, got, err := ask(t.Context(), reader, "SELECT version FROM sql_contract")
		if diff := cmp.Diff([][]string{{"1"}}, got); err != nil || diff != "" {
			t.Errorf("%v, version (-want +got):\n%s", err, diff)
		}
	})
}

// compareSets compares rows without regard to their order.
func compareSets(t *testing.T, want, got [][]string) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%d rows; want %d", len(got), len(want))
	}
	slices.SortFunc(want, slices.Compare)
	slices.SortFunc(got, slices.Compare)
	for i := range min(len(want), len(got)) {
		if diff := cmp.Diff(want[i], got[i]); diff != "" {
			t.Fatalf("row %d (-want +got):\n%s", i, diff)
		}
	}
}

// demoReports is how many reports `docket up --demo` loads.
const demoReports = 3000

// TestQuestionsOnDemo: who tries docs/operate/sql.md on the demo, with the sqlite3 of Debian or on PostgreSQL, gets
// rows, but where the page says that there are none.
func TestQuestionsOnDemo(t *testing.T) {
	t.Parallel()
	testkit.NoError(t, testenv.Need(t.Context(), "sqlite3=sqlite3"))
	asked := questions(t)
	for _, db := range databases(t) {
		t.Run(db.name, func(t *testing.T) {
			if db.name == "postgresql" {
				testkit.Full(t)
			}
			t.Parallel()
			fill(t, db, demo(t))
			for _, q := range asked {
				rows, err := demoRows(t, db, q.statement[db.name])
				if err != nil || (rows == 0) != q.none {
					t.Errorf("%d. %s: %d rows, %v", q.number, q.title, rows, err)
				}
			}
		})
	}
}

// demoRows returns how many rows a statement gives.
func demoRows(t *testing.T, db database, statement string) (int, error) {
	t.Helper()
	if db.file == "" {
		_, rows, err := ask(t.Context(), db.connect(t), statement)
		return len(rows), err
	}
	output, err := exec.CommandContext(t.Context(), "sqlite3", "-readonly", db.file, statement).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, output)
	}
	return strings.Count(string(output), "\n"), nil
}

// demo yields the reports of the demo, as a server would have stored them.
func demo(t *testing.T) iter.Seq[item] {
	t.Helper()
	return func(yield func(item) bool) {
		now := time.Now()
		projector := Projector(testkit.Must(mapping.Load())(t))
		for object := range (sample.Cluster{Seed: 1, Now: now}).Reports(demoReports) {
			made, ok := map[string]report.Accessor{
				"PolicyReport": &wgpolicy.PolicyReport{}, "ClusterPolicyReport": &wgpolicy.ClusterPolicyReport{},
				"Report": &openreports.Report{}, "ClusterReport": &openreports.ClusterReport{},
			}[object.GetKind()]
			if object.GroupVersionKind().Group == sample.TrivyGroup {
				scan := scanned(t, object, now)
				named := &wgpolicy.PolicyReport{ObjectMeta: scan.ObjectMeta}
				it := item{"default", engine.Resource("/" + sample.TrivyGroup + "/" + object.GetKind() + "/"), named, testkit.Must(projector(scan))(t)}
				if !yield(it) {
					return
				}
				continue
			}
			if !ok {
				continue // Ephemeral reports have no rows.
			}
			testkit.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, made))
			made.SetCreationTimestamp(metav1.NewTime(now))
			if !yield(item{cluster: "default", resource: resourceOf(made), report: made}) {
				return
			}
		}
	}
}

// scanned returns an object of Trivy as a server would have stored it.
func scanned(t *testing.T, object *unstructured.Unstructured, at time.Time) *storedObject {
	t.Helper()
	scan := &storedObject{}
	testkit.NoError(t, json.Unmarshal(testkit.Must(json.Marshal(object))(t), scan))
	scan.CreationTimestamp = metav1.NewTime(at)
	scan.body = testkit.Must(json.Marshal(map[string]any{"report": object.Object["report"]}))(t)
	return scan
}
