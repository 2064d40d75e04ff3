// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
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
