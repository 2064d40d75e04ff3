// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

// ofNorth and ofSouth are how many reports of the same sample the clusters have.
const ofNorth, ofSouth = 80, 30

// twoClusters is a server of the cluster south whose database has north, too, which is served no more, and the file
// of the database.
func twoClusters(t *testing.T) (*rest.Config, string) {
	t.Helper()
	testkit.NoError(t, testenv.Need(t.Context(), "sqlite3=sqlite3"))
	state := t.TempDir()
	north := uptest.Server{Cluster: "north", State: state}
	_, err := north.Config(writeSample(ofNorth))
	if stopped := north.Stop(); err != nil || stopped != nil {
		t.Fatal(err, stopped)
	}
	south := &uptest.Server{Cluster: "south", State: state}
	t.Cleanup(func() {
		if err := south.Stop(); err != nil {
			t.Error(err)
		}
	})
	config := testkit.Must(south.Config(writeSample(ofSouth)))(t)
	return config, filepath.Join(south.Dir(), "docket.db")
}

// numbersOfClusters are what the page shows of each cluster, from the views. The page has no column for severities
// that nothing has.
const numbersOfClusters = `SELECT c.name, c.reports,
printf('%.1f %%', floor(1000.0 * sum(r.result = 'pass') / sum(r.result IN ('pass', 'fail'))) / 10) AS pass_rate, sum(r.result = 'fail') AS failures,
sum(r.result = 'fail' AND r.severity = 'critical') AS critical, sum(r.result = 'fail' AND r.severity = 'high') AS high,
sum(r.result = 'fail' AND r.severity = 'medium') AS medium, sum(r.result = 'fail' AND r.severity = 'low') AS low, sum(r.result = 'fail' AND r.severity = 'info') AS info,
count(DISTINCT r.source || ' ' || r.policy) AS policies, count(DISTINCT CASE r.result WHEN 'fail' THEN r.source || ' ' || r.policy END) AS failing
FROM clusters AS c JOIN policy_results AS r ON r.cluster = c.name GROUP BY c.name, c.reports ORDER BY c.name`

// TestTwoClusters is about what the console shows of a database with two clusters.
func TestTwoClusters(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	config, file := twoClusters(t)
	t.Run("page", func(t *testing.T) { testClusters(t, config, file) })
	t.Run("questions", func(t *testing.T) { testFleetQuestions(t, config, file) })
}

// testClusters: the page has the numbers of the database, says which cluster is silent, and leads to the failures of
// one.
func testClusters(t *testing.T, config *rest.Config, file string) {
	t.Helper()
	p := visitAt(t, config, nil)
	p.do(chromedp.WaitVisible(`nav a[href="#/clusters"]`), chromedp.Click(`nav a[href="#/clusters"]`), chromedp.WaitVisible(`button[name="again"]`), ready)
	p.wants("2 in the database, read at", "whatever rights you have", "no server serves it now")
	p.sound()
	var want []string
	for _, row := range sqlRows(t, file, numbersOfClusters) {
		want = append(want, fmt.Sprintln(row["name"], row["reports"], row["pass_rate"], row["failures"], row["critical"], row["high"], row["medium"], row["low"], row["info"], row["policies"], row["failing"]))
	}
	const shown = `[...document.querySelectorAll('tbody tr')].map((tr) => [...tr.cells].map((cell) => cell.querySelector('span')?.textContent ?? cell.textContent.replaceAll(',', '')))`
	var got, servers []string
	for _, row := range eval[[][]string](p, shown) {
		servers = append(servers, row[1])
		got = append(got, strings.Join(slices.Delete(row, 1, 3), " ")+"\n")
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "the numbers of clusters (-SQL +page)")
	testkit.NoDiff(t, cmp.Diff([]string{"0", "1"}, servers), "servers of north and south")
	if silent := eval[[]string](p, `[...document.querySelectorAll('tbody tr')].filter((tr) => tr.innerText.includes('silent')).map((tr) => tr.cells[0].querySelector('span').textContent)`); len(silent) != 1 || silent[0] != "north" {
		t.Errorf("silent are %v, want north", silent)
	}
	p.do(chromedp.Evaluate[chromedp.Void](`document.querySelector('button[name="again"]').dataset.old = 1`), chromedp.Focus(`button[name="again"]`),
		chromedp.Click(`button[name="again"]`), chromedp.WaitVisible(`main:not([aria-busy]) button[name="again"]:not([data-old])`))
	if name := eval[string](p, "document.activeElement.name ?? ''"); name != "again" {
		t.Errorf("after the page was read again, the focus is on %q", name)
	}
	statement := eval[string](p, `document.querySelectorAll('.copy code')[1].textContent`)
	for i, row := range sqlRows(t, file, statement) {
		severe := fmt.Sprint(row["name"], " ", row["reports"])
		if text := fmt.Sprintln(row["fail"], row["critical"], row["high"], row["medium"], row["low"], row["info"]); !strings.HasPrefix(want[i], severe) || !strings.Contains(want[i], " % "+strings.TrimSpace(text)) {
			t.Errorf("the SQL of the page counts %s; %s, want %s", severe, text, want[i])
		}
	}
	p.do(chromedp.Click(`tbody tr:first-child a`), chromedp.WaitVisible("form.question"), ready)
	p.wants("What fails in north", "of all clusters", "kyverno")
}

// TestSilence: the two reasons, and what is not known.
func TestSilence(t *testing.T) {
	t.Parallel()
	p := visit(t, nil)
	for cluster, want := range map[string]string{
		`{ servers: 1, changed: '2026-11-25T12:00:00Z' }`: "",
		`{ servers: 1, changed: '2026-11-25T11:59:59Z' }`: "nothing changed for more than 24 hours",
		`{ servers: 0, changed: '2026-11-26T11:59:59Z' }`: "no server serves it now",
		`{ servers: 1 }`: "",
	} {
		got := eval[string](p, `import('/js/clusters.js').then((m) => m.silence(%s, Date.parse('2026-11-26T12:00:00Z')))`, cluster)
		if got != want {
			t.Errorf("%s is silent as %q, want %q", cluster, got, want)
		}
	}
}

// fleetComparisons are of the statements of docs/operate/sql.md that are about several clusters.
func fleetComparisons() []comparison {
	return []comparison{
		{4, "Which resources fail in every cluster?", map[string]string{
			"subject_kind": "subject.kind", "subject_namespace": "subject.namespace", "subject_name": "subject.name", "policies": "policies",
		}, nil},
		{17, "Which policies fail in one cluster only?", map[string]string{"policy": "policy", "cluster": "clusters", "failures": "results"}, func(row map[string]string) bool { return row["source"] == "kyverno" }},
	}
}

// testFleetQuestions: what the console asks about all clusters has the answers that SQL has.
func testFleetQuestions(t *testing.T, config *rest.Config, file string) {
	t.Helper()
	client := testkit.Must(dynamic.NewForConfig(config))(t)
	statements := statementsOfPage(t)
	p := visitAt(t, config, nil)
	p.open("#/questions")
	links := p.questions()
	if links["How do the clusters compare?"] != "#/clusters" {
		t.Errorf("the questions are %v", links)
	}
	for _, c := range fleetComparisons() {
		status := answered(t, client, specOf(p, links[c.question]))
		if diff := cmp.Diff(c.expected(sqlRows(t, file, statements[c.number])), c.lines(c.rowsOf(status.Groups))); diff != "" || status.More {
			t.Errorf("%d. %s (-SQL +API):\n%s", c.number, c.question, diff)
		}
	}
	p.open(links["What failed most recently, in all clusters?"])
	p.sound()
	want := fmt.Sprint(sqlRows(t, file, strings.Replace(statements[8], "LIMIT 20", "LIMIT 1", 1))[0]["cluster"])
	if got := eval[string](p, "document.querySelector('tbody tr').cells[0].textContent"); got != want {
		t.Errorf("the newest failure is of %s, want %s", got, want)
	}
	if elsewhere := eval[[]string](p, "[...document.querySelectorAll('main a')].map((a) => a.hash)"); len(elsewhere) > 0 {
		t.Errorf("results of all clusters lead to pages of this one: %q", elsewhere)
	}
}

// besideAnother is a cluster that has another one in its database.
func besideAnother(request *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(request.URL.Path, "/clustersummaries") {
		return nil, nil // The cluster answers.
	}
	const list = `{"kind":"ClusterSummaryList","apiVersion":"results.docket.dev/v1alpha1","metadata":{},"items":[{"metadata":{"name":"default"}},{"metadata":{"name":"other"}}]}`
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(list)), Request: request,
	}, nil
}

// TestFleetChoice: a question can be turned into one about all clusters, and back. Namespaces count there, too.
func TestFleetChoice(t *testing.T) {
	t.Parallel()
	p, cluster := visitMoody(t, besideAnother)
	p.open("#/question?by=policy&namespace=shop")
	for _, turn := range []struct{ choice, kind, heading string }{
		{"1", `"kind":"FleetQuery","spec":{"filter":"report.namespace == \"shop\""`, "in namespace shop of all clusters"}, {"", `"kind":"LocalResultQuery"`, "in namespace shop"},
	} {
		p.do(chromedp.SetValue(`select[name="fleet"]`, turn.choice), chromedp.Click(`.actions button`),
			poll(fmt.Sprintf(`document.querySelector('main:not([aria-busy]) .copy code')?.textContent.includes(%q)`, turn.kind)))
		p.wants(turn.heading, "many\t130")
	}
	p.open("#/question?fleet=1&by=policy&order=results&desc=1")
	p.do(chromedp.Click("td a"), chromedp.WaitVisible("details.message, .message"), ready)
	p.wants("default", "The first 100 only")
	p.open("#/question?fleet=1&by=colour")
	p.wants("spec.groupBy[0]")
	mood := errorOf(http.StatusBadRequest, metav1.StatusReasonBadRequest, "there are more than 100000 groups: group by less")
	cluster.mood.Store(&mood)
	p.open("#/question?fleet=1&by=subject.name")
	p.wants("group by less", "Which results, in CEL")
}

// TestWithoutClusters: people who may not know of all clusters, or who ask a server of reports in etcd, see no trace
// of them. The pages about them say why.
func TestWithoutClusters(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	for code, says := range map[int][]string{
		http.StatusForbidden: {"You may not read about all clusters", "kubectl auth can-i"},
		http.StatusNotFound:  {"The cluster does not know of others", "etcd"},
	} {
		asked := make(chan string, 100)
		p, _ := visitMoody(t, func(request *http.Request) (*http.Response, error) {
			if path := request.URL.Path; strings.HasSuffix(path, "clustersummaries") || strings.HasSuffix(path, "fleetqueries") {
				asked <- path
				return errorOf(code, metav1.StatusReasonUnknown, "not that")(request)
			}
			return nil, nil // The cluster answers.
		})
		p.do(chromedp.Click(`nav a[href^="#/questions"]`), chromedp.WaitVisible(".questions"))
		if text := p.text() + eval[string](p, "document.querySelector('nav').innerText"); strings.Contains(strings.ToLower(text), "cluster") {
			t.Errorf("%d: the page of questions knows of clusters:\n%s", code, text)
		}
		p.do(chromedp.Click(`.heading a`), chromedp.WaitVisible("form.question"), ready)
		if has := eval[bool](p, `Boolean(document.querySelector('[name="fleet"], [value="cluster"], [value="clusters"]'))`); has {
			t.Errorf("%d: the form of questions knows of clusters", code)
		}
		if len(asked) != 2 {
			t.Errorf("%d: %d requests for rights, want one for each", code, len(asked))
		}
		for hash, right := range map[string]string{"#/clusters": "list clustersummaries.results.docket.dev", "#/question?fleet=1&by=policy": "create fleetqueries.results.docket.dev"} {
			p.open(hash)
			p.wants(says...)
			p.wants("not that")
			if code == http.StatusForbidden {
				p.wants(right)
			}
			p.sound()
		}
	}
}
