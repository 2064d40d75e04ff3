// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// questionStatements are those of questions that have one plan.
func questionStatements() map[string]string {
	all := map[string]string{}
	add := func(name string, build func(*question)) {
		q := newQuestion(1)
		build(q)
		all["question, "+name] = q.String()
	}
	fails, pods := engine.Equal(engine.FieldResult, "fail"), engine.Equal(engine.FieldSubjectKind, "Pod")
	message := &engine.Filter{Operator: engine.Contains, Field: engine.FieldMessage, Values: []string{"x"}}
	everything := questions.Condition{Filter: engine.Both(fails, pods, message)}
	in := windowArrays{[]int16{1}, []string{"a"}, []string{"b"}, []string{"a"}, []string{"Report"}}
	namespace := "n"
	add("page", func(q *question) { q.addRows(in, everything, 500, true) })
	add("reports", func(q *question) { q.addRows(in, everything, 500, false) })
	add("page by verdicts alone", func(q *question) { q.addRows(in, questions.Condition{Filter: fails}, 500, true) })
	templates, confined := engine.CountQuery{By: []engine.Field{engine.FieldTemplate}, Limit: 1}, engine.Both(everything.Filter, engine.Equal(engine.FieldNamespace, "n"))
	add("results of a namespace", func(q *question) { q.addResults(&templates, confined) })
	add("first of a namespace", func(q *question) { q.addFirst(&engine.OrderQuery{OrderBy: engine.FieldSeverity, Limit: 1}, confined) })
	for table, sql := range byNumber {
		add(table+"s by number", func(q *question) { q.WriteString(sql) })
	}
	add("reports of verdicts", func(q *question) { q.addSelective(engine.PartVerdict, nil, []int64{1}, nil, 1) })
	add("reports about subjects", func(q *question) { q.addSelective(engine.PartSubject, nil, []int64{1}, nil, 1) })
	add("reports about subjects in a namespace", func(q *question) { q.addSelective(engine.PartSubject, nil, []int64{1}, &namespace, 1) })
	return all
}

// TestQuestionsEnd: a statement is cancelled when the context ends, or the engine is closed.
func TestQuestionsEnd(t *testing.T) {
	t.Parallel()
	e := openCluster(t, testenv.Postgres(t).Database(t), "main")
	run := func(ctx context.Context) error {
		return e.ask(ctx, "sleep", "", func(ctx context.Context, s *resultReader) error {
			_, err := s.tx.Exec(ctx, "SELECT pg_sleep(3600)")
			return err
		})
	}
	for range questionConns + 1 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the time is over", err)
		}
		cancel()
	}
	q := engine.RowQuery{Kinds: []engine.ReportKind{{Kind: "PolicyReport", Resource: "/wgpolicyk8s.io/policyreports/"}}, Limit: 1}
	if _, err := e.Rows(t.Context(), q); err != nil {
		t.Errorf("after that: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- run(context.WithoutCancel(t.Context())) }()
	if err := e.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-ended; !errors.Is(err, engine.ErrClosed) {
		t.Errorf("got %v, want that the engine is closed", err)
	}
}

// TestQuestionsKeepNobodyWaiting: while all connections of questions are taken, everything else goes on. They are
// opened when they are needed, give up after a while, and only read.
func TestQuestionsKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	e := openCluster(t, testenv.Postgres(t).Database(t), "main")
	if n := e.questions.Stat().TotalConns(); n > 0 {
		t.Errorf("%d connections were opened before they were needed", n)
	}
	testkit.NoError(t, e.ask(t.Context(), "look", "", func(ctx context.Context, s *resultReader) error {
		var timeout, readOnly, isolation string
		err := s.tx.QueryRow(ctx, `SELECT current_setting('statement_timeout'), current_setting('transaction_read_only'),
			current_setting('transaction_isolation')`).Scan(&timeout, &readOnly, &isolation)
		if timeout != "30s" || readOnly != "on" || isolation != repeatableRead {
			t.Errorf("timeout %q, read-only %q, isolation %q", timeout, readOnly, isolation)
		}
		return err
	}))
	var held []*pgxpool.Conn
	for range questionConns {
		conn := testkit.Must(e.questions.Acquire(t.Context()))(t)
		held = append(held, conn)
	}
	if _, err := e.State(t.Context()); err != nil {
		t.Errorf("state: %v", err)
	}
	if _, err := e.List(t.Context(), engine.Query{Resource: "/r/"}); err != nil {
		t.Errorf("list: %v", err)
	}
	for _, conn := range held {
		conn.Release()
	}
}
