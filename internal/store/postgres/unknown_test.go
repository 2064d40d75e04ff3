// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
)

// statements counts what is sent.
type statements struct{ sent atomic.Int64 }

// TraceQueryStart implements pgx.QueryTracer.
func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.sent.Add(1)
	return ctx
}

// TraceQueryEnd implements pgx.QueryTracer.
func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestUnknownKind: a kind that was never written costs no more than one that was, and is seen at once when another
// process writes it.
func TestUnknownKind(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	reader, other := openFor(t, url), openFor(t, url)
	counter := &statements{}
	config := reader.reads.Config()
	config.ConnConfig.Tracer = counter
	// One connection: what a second one sends while it is prepared would be counted, too.
	config.MaxConns, config.MinIdleConns = 1, 0
	traced := testkit.Must(pgxpool.NewWithConfig(t.Context(), config))(t)
	reader.reads.Close()
	reader.reads = traced
	const kind = engine.Resource("/never/written/")
	calls := map[string]func() (int64, error){
		"Get": func() (int64, error) {
			row, _, err := reader.Get(t.Context(), kind, "a")
			if row == nil {
				return 0, err
			}
			return 1, err
		},
		"List": func() (int64, error) {
			page, err := reader.List(t.Context(), engine.Query{Resource: kind, Limit: 10, Count: true})
			return int64(len(page.Rows)) + page.Remaining, err
		},
		"Stats": func() (int64, error) {
			stats, err := reader.Stats(t.Context(), kind)
			return stats.Objects, err
		},
	}
	for name, call := range calls {
		if _, err := call(); err != nil { // The connection is made.
			t.Fatal(err)
		}
		before := counter.sent.Load()
		objects, err := call()
		if sent := counter.sent.Load() - before; err != nil || objects != 0 || sent != 1 {
			t.Errorf("%s: %d objects by %d statements, %v", name, objects, sent, err)
		}
	}
	testkit.Must(other.Commit(t.Context(), []engine.Op{{Kind: engine.Create, Resource: kind, Key: "a"}}))(t)
	for name, call := range calls {
		if objects, err := call(); err != nil || objects != 1 {
			t.Errorf("%s after another process wrote: %d objects, %v", name, objects, err)
		}
	}
}

func openFor(t *testing.T, url string) *Engine {
	t.Helper()
	e := testkit.Must(Open(t.Context(), Options{URL: url, Cluster: "main"}))(t)
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// TestWordOfThePooler: that a pooler lost the server says nothing of a commit, which the server may have made.
func TestWordOfThePooler(t *testing.T) {
	t.Parallel()
	for code, unknown := range map[string]bool{"08P01": true, "23505": false, "57P01": false} {
		err := statementOutcome(&pgconn.PgError{Severity: "FATAL", Code: code, Message: "server conn crashed?"})
		if errors.Is(err, engine.ErrUnknownOutcome) != unknown {
			t.Errorf("%s: %v", code, err)
		}
		if broken := code != "23505"; isBroken(err) != broken {
			t.Errorf("%s: %v is taken for a connection that goes on", code, err)
		}
	}
}
