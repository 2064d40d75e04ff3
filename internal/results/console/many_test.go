// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/uptest"
)

var manyReports = flag.Int("reports", 300, "number of reports with 17 results each that TestManyResults is about; make test-million has 60,000")

// mostRows bounds the rows of a page, and mostElements its elements, however many results there are.
const (
	mostRows     = 500
	mostElements = 15_000
)

// TestManyResults: each page shows the numbers of the database, stays small, and is usable by everybody, at sizes
// that the other tests don't have.
func TestManyResults(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	testkit.NoError(t, testenv.Need(t.Context(), "sqlite3=sqlite3"))
	script := testkit.Must(axe())(t)
	state := t.TempDir()
	file := filepath.Join(state, "state", "docket.db")
	testkit.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	fill := exec.CommandContext(t.Context(), testenv.Program(t, "fill"), "--database", "sqlite://"+file, "--objects", strconv.Itoa(*manyReports))
	if output, err := fill.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", fill, err, output)
	}
	large := &uptest.Server{State: state}
	t.Cleanup(func() {
		if err := large.Stop(); err != nil {
			t.Error(err)
		}
	})
	config := testkit.Must(large.Config(nil))(t)
	p := visitAt(t, config, nil)
	row := sqlRows(t, file, `SELECT count(*) AS results, sum(result = 'fail') AS failures, sum(result IN ('fail', 'error', 'warn')) AS problems FROM policy_results`)[0]
	if want := float64(17 * *manyReports); row["results"] != want {
		t.Fatalf("there are %v results, want %v", row["results"], want)
	}
	one := sqlRows(t, file, `SELECT namespace, policy, report_kind, report, subject_kind, subject_name FROM policy_results WHERE result = 'fail'
		AND namespace = (SELECT namespace FROM policy_results WHERE result = 'fail' GROUP BY namespace ORDER BY count(*) DESC LIMIT 1) ORDER BY report LIMIT 1`)[0]
	of := func(page string, columns map[string]string) string {
		values := url.Values{}
		for parameter, column := range columns {
			values.Set(parameter, one[column].(string))
		}
		return "#/" + page + "?" + values.Encode()
	}
	namespace := sqlRows(t, file, fmt.Sprintf(`SELECT count(*) AS problems FROM policy_results WHERE namespace = '%s' AND result IN ('fail', 'error', 'warn')`, one["namespace"]))[0]
	policy := sqlRows(t, file, fmt.Sprintf(`SELECT count(*) AS results, sum(result = 'fail') AS failures FROM policy_results WHERE policy = '%s'`, one["policy"]))[0]
	n := func(number any) string {
		return eval[string](p, "new Intl.NumberFormat('en').format(%.0f)", number)
	}
	pages := map[string]string{
		"#/overview": n(row["failures"]) + " failures in all namespaces",
		"#/results":  "1–100 of " + n(row["problems"]) + " in all namespaces",
		"#/results?result=all&sort=timestamp&desc=1": "1–100 of " + n(row["results"]),
		"#/heatmap":  one["namespace"].(string),
		"#/clusters": n(row["failures"]),
		of("results", map[string]string{"namespace": "namespace"}):                                                  " of " + n(namespace["problems"]) + " in namespace",
		of("policy", map[string]string{"policy": "policy"}):                                                         n(policy["failures"]) + " of " + n(policy["results"]) + " results fail",
		of("resource", map[string]string{"namespace": "namespace", "kind": "subject_kind", "name": "subject_name"}): "17 results of",
		of("report", map[string]string{"namespace": "namespace", "kind": "report_kind", "name": "report"}):          one["report"].(string),
		"#/questions": "What fails",
	}
	p.open("#/questions")
	for question, hash := range p.questions() {
		pages[hash] = question
	}
	for hash, text := range pages {
		began := time.Now()
		p.open(hash)
		t.Logf("%s: %v", hash, time.Since(began).Round(time.Millisecond))
		p.wants(text)
		p.sound()
		if !strings.HasPrefix(hash, "#/question?") { // Their tables are those of other pages.
			p.accessible(script)
		}
		if rows := eval[int](p, "document.querySelectorAll('tbody tr').length"); rows > mostRows {
			t.Errorf("%s has %d rows", hash, rows)
		}
		if elements := eval[int](p, "document.querySelectorAll('*').length"); elements > mostElements {
			t.Errorf("%s has %d elements", hash, elements)
		}
	}
}
