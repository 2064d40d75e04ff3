// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reportsserver reads the PostgreSQL tables of kyverno/reports-server. It
// writes nothing. Tables is the entry point; there are no goroutines.
package reportsserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/postgres/encrypted"
)

// Tables are the tables of a database at one moment: all reads share one transaction. Not safe
// for concurrent use.
type Tables struct {
	conn    *pgx.Conn
	tx      pgx.Tx
	columns map[string][]string
}

// Report is a row of a table.
type Report struct {
	Namespace, Name string
	// Object is the report as it was stored.
	Object json.RawMessage
}

// plain shortens the error of a refused connection: the driver's text has a line for each attempt.
func plain(err error) error {
	var failed *net.OpError
	if errors.As(err, &failed) {
		return failed
	}
	return err
}

// Open connects to a database. Close must be called.
func Open(ctx context.Context, url string) (*Tables, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL of reports-server: %w", err) // pgx leaves the password out.
	}
	if err := encrypted.Check(url, config); err != nil {
		return nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect to the database of reports-server: %w", plain(err)) // pgx leaves the password out.
	}
	t := &Tables{conn: conn, columns: map[string][]string{}}
	if err := t.begin(ctx); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return t, nil
}

func (t *Tables) begin(ctx context.Context) error {
	var err error
	t.tx, err = t.conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("begin to read: %w", err)
	}
	rows, err := t.tx.Query(ctx, `SELECT table_name::text, array_agg(column_name::text) FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = ANY($1) GROUP BY table_name`, known())
	if err != nil {
		return fmt.Errorf("look for tables: %w", err)
	}
	var table string
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&table, &columns}, func() error {
		if slices.Contains(columns, "report") && slices.Contains(columns, "name") {
			t.columns[table] = slices.Clone(columns)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("look for tables: %w", err)
	}
	if len(t.columns) == 0 {
		return errors.New("the database has no table of reports-server: give the database that its DB_DATABASE names")
	}
	return nil
}

// known returns the names of the tables, which are named after the resources.
func known() []string {
	return []string{
		"policyreports", "clusterpolicyreports", "reports", "clusterreports", "ephemeralreports", "clusterephemeralreports",
	}
}

// Close ends the transaction and the connection.
func (t *Tables) Close(ctx context.Context) error {
	return errors.Join(t.tx.Rollback(ctx), t.conn.Close(ctx))
}

// Clusters returns the IDs of the clusters that have reports; none if the tables are from a
// version of reports-server that served one cluster only.
func (t *Tables) Clusters(ctx context.Context) ([]string, error) {
	found := map[string]bool{}
	for table, columns := range t.columns {
		if !slices.Contains(columns, "cluster_id") {
			continue
		}
		rows, err := t.tx.Query(ctx, `SELECT DISTINCT cluster_id::text FROM `+pgx.Identifier{table}.Sanitize())
		if err != nil {
			return nil, fmt.Errorf("clusters in table %s: %w", table, err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return nil, fmt.Errorf("clusters in table %s: %w", table, err)
		}
		for _, id := range ids {
			found[id] = true
		}
	}
	var ids []string
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}

// Reports returns the rows of a resource and cluster in the bytewise order of
// "namespace/name". A missing table has none.
func (t *Tables) Reports(ctx context.Context, resource, cluster string) iter.Seq2[Report, error] {
	return func(yield func(Report, error) bool) {
		columns, ok := t.columns[resource]
		if !ok {
			return
		}
		namespace, key, where := "''", "name", ""
		if slices.Contains(columns, "namespace") {
			namespace, key = "namespace", "namespace || '/' || name"
		}
		var args []any
		if slices.Contains(columns, "cluster_id") {
			where, args = " WHERE cluster_id::text = $1", append(args, cluster)
		}
		// One scan of the table, sorted by the server; the rows are streamed.
		rows, err := t.tx.Query(ctx, `SELECT `+namespace+`::text, name::text, report::text FROM `+pgx.Identifier{resource}.Sanitize()+
			where+` ORDER BY (`+key+`)::text COLLATE "C"`, args...)
		if err != nil {
			yield(Report{}, fmt.Errorf("read table %s: %w", resource, err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var report Report
			var object string
			if err := rows.Scan(&report.Namespace, &report.Name, &object); err != nil {
				yield(Report{}, fmt.Errorf("read table %s: %w", resource, err))
				return
			}
			report.Object = json.RawMessage(object)
			if !yield(report, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(Report{}, fmt.Errorf("read table %s: %w", resource, err))
		}
	}
}

// Get returns one row; ok is false if there is none.
func (t *Tables) Get(ctx context.Context, resource, cluster, namespace, name string) (report Report, ok bool, err error) {
	for report, err := range t.Reports(ctx, resource, cluster) {
		if err != nil || report.Namespace == namespace && report.Name == name {
			return report, err == nil, err
		}
	}
	return Report{}, false, nil
}
