// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/enginetest"
)

var anyReport = engine.RowQuery{Kinds: []engine.ReportKind{{Kind: "PolicyReport", Resource: "/wgpolicyk8s.io/policyreports/"}}, Limit: 1}

// endless are statements that never end: one before its first row, one after it.
var endless = map[string]string{
	"before the first row": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
	"between rows":         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
}

func openQuestions(t *testing.T) *Engine {
	t.Helper()
	e := testkit.Must(Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "docket.db"), Cluster: "main"}))(t)
	t.Cleanup(func() { _ = e.Close() })
	testkit.Must(e.Commit(t.Context(), []engine.Op{enginetest.Report(1)}))(t)
	return e
}

// TestQuestionsEnd: a statement is interrupted when the context ends, or the engine is closed, and the connection goes
// on.
func TestQuestionsEnd(t *testing.T) {
	t.Parallel()
	for name, statement := range endless {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := openQuestions(t)
			run := func(ctx context.Context) error {
				return e.ask(ctx, "", func(s *resultReader) error {
					return s.scan(func([]driver.Value) error { return nil }, statement)
				})
			}
			for range questioners + 1 {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				if err := run(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want that the time is over", err)
				}
				cancel()
			}
			e.questionTimeout = 20 * time.Millisecond
			if err := run(t.Context()); !errors.Is(err, engine.ErrUnavailable) {
				t.Errorf("got %v, want that it took too long", err)
			}
			e.questionTimeout = questionTimeout
			page, err := e.Rows(t.Context(), anyReport)
			if err != nil || len(page.Rows) != 17 {
				t.Errorf("after that: %d rows, %v", len(page.Rows), err)
			}
			ended := make(chan error)
			go func() { ended <- run(context.WithoutCancel(t.Context())) }()
			if err := e.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			if err := <-ended; !errors.Is(err, engine.ErrClosed) {
				t.Errorf("got %v, want that the engine is closed", err)
			}
		})
	}
}

// TestQuestionsKeepNobodyWaiting: while all connections of questions are taken, everything else goes on, and the log is
// emptied.
func TestQuestionsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	e := openQuestions(t)
	var held []*conn
	for range questioners {
		held = append(held, <-e.questions.conns)
	}
	for _, c := range held {
		if c != nil {
			t.Error("a connection was opened before it was needed")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error)
	go func() {
		_, err := e.Rows(ctx, anyReport)
		answered <- err
	}()
	if _, err := e.Commit(t.Context(), []engine.Op{enginetest.Report(2)}); err != nil {
		t.Errorf("commit: %v", err)
	}
	if _, err := e.List(t.Context(), engine.Query{Resource: anyReport.Kinds[0].Resource}); err != nil {
		t.Errorf("list: %v", err)
	}
	if err := e.write(t.Context(), func(w *writer) error { return e.truncateLog(t.Context(), w) }); err != nil {
		t.Errorf("empty the log: %v", err)
	}
	e.holdQuestions(0)()
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("the question ended with %v", err)
	}
	for _, c := range held {
		e.questions.conns <- c
	}
	// New ones wait while the log is emptied.
	release := e.holdQuestions(time.Minute)
	if len(e.questions.conns) > 0 {
		t.Error("a connection is left while none should be")
	}
	release()
	if _, err := e.Rows(t.Context(), anyReport); err != nil {
		t.Errorf("after that: %v", err)
	}
}
