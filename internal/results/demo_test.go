// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"fmt"
	"iter"
	"os/exec"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	openreports "github.com/docket-project/docket/api/openreports/v1alpha1"
	"github.com/docket-project/docket/api/report"
	wgpolicy "github.com/docket-project/docket/api/wgpolicyk8s/v1alpha2"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/sample"
)

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
		for object := range (sample.Cluster{Seed: 1, Now: now}).Reports(demoReports) {
			made, ok := map[string]report.Accessor{
				"PolicyReport": &wgpolicy.PolicyReport{}, "ClusterPolicyReport": &wgpolicy.ClusterPolicyReport{},
				"Report": &openreports.Report{}, "ClusterReport": &openreports.ClusterReport{},
			}[object.GetKind()]
			if !ok {
				continue // Ephemeral reports have no rows.
			}
			testkit.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, made))
			made.SetCreationTimestamp(metav1.NewTime(now))
			if !yield(item{"default", resourceOf(made), made}) {
				return
			}
		}
	}
}
