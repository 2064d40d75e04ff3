// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
	"github.com/docket-project/docket/internal/store/postgres"
	"github.com/docket-project/docket/internal/store/sqlite"
)

// database is an engine's database as Docket and as a reader see it.
type database struct {
	// name is what docs/operate/sql.md calls the engine.
	name string
	open func(t testing.TB, cluster string) enginetest.Engine
	// connect returns a connection that may only read the views.
	connect func(t testing.TB) *sql.DB
	// file is where SQLite keeps it, "" for PostgreSQL.
	file string
	// settle does what happens by itself within minutes after a load.
	settle func(t testing.TB)
	// explain is what stands before a statement to get its plan.
	explain string
}

func databases(t testing.TB) []database {
	return []database{sqliteDatabase(t), postgresDatabase(t)}
}

func sqliteDatabase(t testing.TB) database { return sqliteAt(filepath.Join(t.TempDir(), "docket.db")) }

// sqliteAt is the database in a file.
func sqliteAt(path string) database {
	return database{
		name:    "sqlite",
		file:    path,
		explain: "EXPLAIN QUERY PLAN ",
		settle:  func(testing.TB) {},
		open: func(t testing.TB, cluster string) enginetest.Engine {
			t.Helper()
			return testkit.Must(sqlite.Open(t.Context(), sqlite.Options{Path: path, Cluster: cluster}))(t)
		},
		connect: func(t testing.TB) *sql.DB {
			t.Helper()
			uri := url.URL{Scheme: "file", Path: path, RawQuery: "mode=ro"}
			db := testkit.Must(sql.Open("sqlite", uri.String()))(t)
			t.Cleanup(func() { _ = db.Close() })
			return db
		},
	}
}

func postgresDatabase(t testing.TB) database { return postgresAt(testenv.Postgres(t).Database(t)) }

// postgresAt is the database at a URL.
func postgresAt(location string) database {
	return database{
		name:    "postgresql",
		explain: "EXPLAIN ANALYZE ",
		open: func(t testing.TB, cluster string) enginetest.Engine {
			t.Helper()
			return testkit.Must(postgres.Open(t.Context(), postgres.Options{URL: location, Cluster: cluster, MaxConns: 2}))(t)
		},
		settle: func(t testing.TB) { settlePostgres(t, location) },
		connect: func(t testing.TB) *sql.DB {
			t.Helper()
			return connectPostgres(t, location, map[string]string{
				"role": "docket_reader", "search_path": "docket", "default_transaction_read_only": "on",
			})
		},
	}
}

// settlePostgres moves the counters of all clusters to where housekeeping moves them, and has PostgreSQL look at its
// tables.
func settlePostgres(t testing.TB, location string) {
	t.Helper()
	admin := connectPostgres(t, location, nil)
	_, rows, err := ask(t.Context(), admin, "SELECT name FROM docket.cluster")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		e := testkit.Must(postgres.Open(t.Context(), postgres.Options{URL: location, Cluster: row[0], MaxConns: 2}))(t)
		testkit.NoError(t, errors.Join(e.Tally(t.Context()), e.Close()))
	}
	testkit.Must(admin.ExecContext(t.Context(), "VACUUM (ANALYZE)"))(t)
}

func connectPostgres(t testing.TB, location string, parameters map[string]string) *sql.DB {
	t.Helper()
	config := testkit.Must(pgx.ParseConfig(location))(t)
	maps.Copy(config.RuntimeParams, parameters)
	db := stdlib.OpenDB(*config)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// batchSize is how many reports a commit of load writes.
const batchSize = 100

// load stores a data set.
func load(t testing.TB, db database, data dataset) {
	t.Helper()
	fill(t, db, data.all())
}

// fill stores items through the engine and leaves the engine open, as it is while
// people ask.
func fill(t testing.TB, db database, items iter.Seq[item]) {
	t.Helper()
	var (
		current enginetest.Engine
		cluster string
		batch   []engine.Op
	)
	shut := func() {
		if current == nil {
			return
		}
		if err := current.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		current = nil
	}
	t.Cleanup(shut)
	flush := func() {
		commit(t, current, batch)
		batch = batch[:0]
	}
	for it := range items {
		if it.cluster != cluster {
			if current != nil {
				flush()
			}
			shut()
			cluster, current = it.cluster, db.open(t, it.cluster)
		}
		batch = append(batch, operation(t, it))
		if len(batch) == batchSize {
			flush()
		}
	}
	flush()
}

func operation(t testing.TB, it item) engine.Op {
	t.Helper()
	p := it.projection
	if p == nil {
		p = testkit.Must(Project(it.report))(t)
	}
	// The views don't read the value.
	value := engine.Value{Data: []byte("{}"), Size: 2}
	key := it.report.GetName()
	if namespace := it.report.GetNamespace(); namespace != "" {
		key = namespace + "/" + key
	}
	return engine.Op{Kind: engine.Create, Resource: it.resource, Key: key, Value: value, Projection: p}
}

func commit(t testing.TB, e engine.Engine, ops []engine.Op) {
	t.Helper()
	if len(ops) == 0 {
		return
	}
	batch := testkit.Must(e.Commit(t.Context(), ops))(t)
	for i, outcome := range batch.Outcomes {
		if outcome.Revision == 0 {
			t.Fatalf("%s was not created", ops[i].Key)
		}
	}
}

// ask returns the rows of a query as texts that don't depend on the engine.
func ask(ctx context.Context, db *sql.DB, query string) (columns []string, answer [][]string, err error) {
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = rows.Close() }()
	if columns, err = rows.Columns(); err != nil {
		return nil, nil, err
	}
	for rows.Next() {
		values := make([]any, len(columns))
		pointers := make([]any, len(columns))
		for i := range values {
			pointers[i] = &values[i]
		}
		if err := rows.Scan(pointers...); err != nil {
			return nil, nil, err
		}
		row := make([]string, len(values))
		for i, value := range values {
			row[i] = cell(value)
		}
		answer = append(answer, row)
	}
	return columns, answer, rows.Err()
}

func cell(value any) string {
	switch v := value.(type) {
	case nil:
		return "NULL"
	case []byte:
		return cell(string(v))
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case bool:
		if v {
			return "1"
		}
		return "0"
	default:
		return number(fmt.Sprint(v))
	}
}

// number writes 40.0, 40 and 4e1 alike, and leaves other texts alone.
func number(s string) string {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	return strconv.FormatFloat(f, 'g', 10, 64)
}
