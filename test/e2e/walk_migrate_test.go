// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestWalkMigrate moves reports from custom resources into Docket and back, as migrate.md says.
func TestWalkMigrate(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	c, w := newInstallation(t)
	c.InstallCRDs(t)
	port := testenv.FreePort(t)
	w.shell.Replace("REGISTRY", "registry.example", "TAG", "v1", " 8443:443", fmt.Sprintf(" %d:443", port),
		"--server https://docket.docket-system.svc", fmt.Sprintf("--server https://localhost:%d --server-name docket.docket-system.svc", port))
	w.create("a")
	w.create("b")

	w.overlay()
	w.follow(installPage, "Everything but the APIServices")
	w.shell.Run(t, "kubectl -n docket-system rollout status statefulset docket --timeout=3m")
	w.follow(migratePage, "Before")
	w.follow(migratePage, "Before #2")
	w.want(fmt.Sprintf("curl --silent --insecure https://localhost:%d/readyz", port), "ok")

	wantOutput(t, w.follow(migratePage, "Copy, switch, verify: one command"), "Imported: 2 created", "Done: the reports are in Docket")
	w.create("c")
	w.wantReports("a", "b", "c")
	wantOutput(t, w.follow(migratePage, "Compare again, free the space in etcd"), "2 with the same content", "Deleted 2 reports from the cluster")
	w.follow(migratePage, "Compare again, free the space in etcd #2")
	c.WaitAvailable(t)
	w.want("kubectl explain policyreports.results", "FIELDS")
	wantOutput(t, w.follow(migratePage, "Back to custom resources"), "Done: the reports are in the cluster")
	w.wantReports("a", "b", "c")
}

// TestWalkDatabases backs up, restores and moves the database of a server on this machine, as backup.md and
// migrate.md say.
func TestWalkDatabases(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	w := newWalker(t, "/dev/null")
	folder := w.dir + "/.docket"
	w.shell.Replace("sqlite:///var/lib/docket/docket.db", "sqlite://"+folder+"/docket.db",
		"postgres://docket@db:5432/docket?sslmode=verify-full", testenv.Postgres(t).Database(t))
	port := testenv.FreePort(t)
	w.shell.Run(t, "mkdir --mode=0700 .docket; export KUBECONFIG="+folder+"/kubeconfig")
	up := fmt.Sprintf("docket up --listen 127.0.0.1:%d", port)
	w.start(up, "is ready at")
	w.create("a")
	w.follow(backupPage, "SQLite on your machine")
	w.create("lost")
	w.shell.Run(t, "kill $started; wait $started")
	w.follow(backupPage, "SQLite on your machine #2")
	w.start(up, "is ready at")
	w.wantReports("a")
	w.shell.Run(t, "kill $started; wait $started")
	w.follow(backupPage, "Snapshots of volumes")
	if output := w.follow(migratePage, "From one database to another"); !strings.Contains(output, "1 with the same content") {
		t.Errorf("the migration says:\n%s", output)
	}
}
