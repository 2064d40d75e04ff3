// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// Names of the cluster with kube-apiserver in the database, and of the other one there.
const (
	ownShare   = "east"
	otherShare = "west"
)

// serveOther makes a database the home of a second cluster, with a report of its own.
func serveOther(t *testing.T, url string) {
	t.Helper()
	other := harness.Up(t, "--database="+url, "--cluster="+otherShare)
	other.Kubectl(t, "default").RunInput(t, reportWithResult("PolicyReport", "of-west"), "create", "-f", "-")
}

// testFleet: who looks after all clusters sees through kube-apiserver what SQL says of each, by the right to that
// alone.
func (b *bootstrapped) testFleet(t *testing.T, url string) {
	conn := testkit.Must(pgx.Connect(t.Context(), url))(t)
	defer func() { _ = conn.Close(t.Context()) }()
	ask := func(sql string) string {
		rows, err := conn.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		lines := testkit.Must(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
		return strings.Join(lines, "\n")
	}
	steward := b.kubectl.As("steward")
	fleet := func(spec, path string) string {
		query := `{"apiVersion":"` + resultsGroup + `/v1alpha1","kind":"FleetQuery","spec":` + spec + `}`
		return strings.TrimSpace(steward.RunInput(t, query, "create", "--validate=false", "-o", "jsonpath="+path, "-f", "-"))
	}
	for name, c := range map[string]struct{ got, sql string }{
		"clusters": {
			strings.TrimSpace(steward.Run(t, "get", "clsum", "-o", `jsonpath={range .items[*]}{.metadata.name} {.reports} {.total}{"\n"}{end}`)),
			`SELECT name || ' ' || reports || ' ' || results FROM docket.clusters ORDER BY name`,
		},
		"in one cluster only": {
			fleet(`{"filter":"result == \"fail\"","groupBy":["policy"],"aggregates":["clusters"],"having":"clusters == 1"}`,
				`{range .status.groups[*]}{.by.policy} {.clusterNames[0]} {.results}{"\n"}{end}`),
			`SELECT policy || ' ' || min(cluster) || ' ' || count(*) FROM docket.policy_results WHERE result = 'fail' GROUP BY policy HAVING count(DISTINCT cluster) = 1 ORDER BY policy COLLATE "C"`,
		},
		"in every cluster": {
			fleet(`{"groupBy":["subject.kind","subject.name"],"aggregates":["clusters","policies"],"having":"clusters == 2"}`,
				`{range .status.groups[*]}{.by.subject\.kind}/{.by.subject\.name} {.policies}{"\n"}{end}`),
			`SELECT subject_kind || '/' || subject_name || ' ' || count(DISTINCT policy) FROM docket.policy_results GROUP BY subject_kind, subject_name HAVING count(DISTINCT cluster) = 2`,
		},
	} {
		if want := ask(c.sql); c.got != want || want == "" {
			t.Errorf("%s: kubectl shows\n%s\nSQL says\n%s", name, c.got, want)
		}
	}
	steward.Refused(t, "", []string{"Forbidden"}, "get", "pres", "-A")
	if summary := steward.Run(t, "get", "clsum", otherShare); !strings.Contains(summary, otherShare) {
		t.Errorf("the summary of the other cluster is\n%s", summary)
	}
}
