// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// tlsDatabase is a PostgreSQL that is reached over TLS and with a password.
type tlsDatabase struct {
	url string // of its superuser
	// address is host:port/database, for the user docket.
	address string
	// programs is the folder of pg_dump and its like.
	programs string
}

const databasePassword = "correct-horse"

// newTLSDatabase starts it, and writes the files ca and password that postgresql.md names to the folder dir.
func newTLSDatabase(t *testing.T, dir string) *tlsDatabase {
	t.Helper()
	server := testenv.NewPostgres(t)
	d := &tlsDatabase{url: server.Database(t), address: server.Addr() + "/docket"}
	authority := testkit.Must(certificate.NewAuthority("database", time.Now(), time.Hour))(t)
	pair := testkit.Must(certificate.NewServing(authority, []string{"127.0.0.1"}, time.Now(), time.Hour))(t)
	data := d.ask(t, "SHOW data_directory")
	info := testkit.Must(os.Stat(data))(t)
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		t.Fatalf("%s has no owner", data)
	}
	for name, content := range map[string][]byte{"server.crt": pair.CertificatePEM, "server.key": pair.KeyPEM} {
		path := filepath.Join(data, name)
		testkit.NoError(t, errors.Join(os.WriteFile(path, content, 0o600), os.Chown(path, int(owner.Uid), int(owner.Gid))))
	}
	d.run(t, "ALTER SYSTEM SET ssl = on; SELECT pg_reload_conf()")
	d.programs = d.ask(t, "SELECT setting FROM pg_config WHERE name = 'BINDIR'")
	for name, content := range map[string][]byte{"database-ca.crt": authority.CertificatePEM, "password": []byte(databasePassword + "\n")} {
		testkit.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	return d
}

// run runs statements as the superuser. Some can't be in one transaction.
func (d *tlsDatabase) run(t *testing.T, statements string) {
	t.Helper()
	connection := testkit.Must(pgx.Connect(t.Context(), d.url))(t)
	for statement := range strings.SplitSeq(statements, ";") {
		if _, err := connection.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	testkit.NoError(t, connection.Close(t.Context()))
}

// ask returns the one value that a query has.
func (d *tlsDatabase) ask(t *testing.T, query string) (answer string) {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), d.url)
	if err != nil {
		t.Fatal(err)
	}
	err = connection.QueryRow(t.Context(), query).Scan(&answer)
	if err := errors.Join(err, connection.Close(t.Context())); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return answer
}

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

	wantOutput(t, w.follow(migratePage, "Copy, switch, verify: one command"), "Imported: 2 created", "Done: the objects are in Docket")
	w.create("c")
	w.wantReports("a", "b", "c")
	wantOutput(t, w.follow(migratePage, "Compare again, free the space in etcd"), "2 with the same content", "Deleted 2 objects from the cluster")
	w.want("kubectl explain policyreports.results", "FIELDS") // By the CRDs.
	c.RemoveCRDs(t)
	w.follow(migratePage, "Compare again, free the space in etcd #2")
	c.WaitAvailable(t)
	w.want("kubectl explain policyreports.results", "FIELDS")
	c.InstallCRDs(t)
	wantOutput(t, w.follow(migratePage, "Back to custom resources"), "Done: the objects are in the cluster")
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
