// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// questionConns answer questions about results, which may take long. They are opened by the first question.
const questionConns = 2

// askTables is the questions.Ask of the engine's answers.
func (e *Engine) askTables(ctx context.Context, what, cluster string, f func(context.Context, questions.Tables) error) error {
	return e.ask(ctx, what, cluster, func(ctx context.Context, s *resultReader) error { return f(ctx, s) })
}

// resultReader is a snapshot in which a question is answered.
type resultReader struct {
	engine *Engine
	tx     pgx.Tx
	// cluster is the one that is asked about.
	cluster int32
	state   engine.State
	// tallied says that counters are kept.
	tallied bool
	// planning says how statements are planned so far.
	planning planning
	// shared is what rows that were read so far refer to.
	shared *questions.Texts
}

// planning says how statements of questions are planned.
type planning int

const (
	fixedPlans  planning = iota // By indexes and nested loops, as all statements are that have few rows to read.
	bitmapPlans                 // The same, by an index that needs bitmaps.
	countPlans                  // By statistics, without workers: what reads counters, which takes less time than to start one.
	freePlans                   // By statistics: what reads whole tables.
)

var _ questions.Tables = (*resultReader)(nil)

// State implements questions.Tables.
func (s *resultReader) State() engine.State { return s.state }

// Tallied implements questions.Tables.
func (s *resultReader) Tallied() bool { return s.tallied }

// Plans implements questions.Tables.
func (s *resultReader) Plans() bool { return true }

// ask runs work in one snapshot, on a connection for questions, about a cluster: "" for the engine's own.
func (e *Engine) ask(ctx context.Context, what, cluster string, work func(ctx context.Context, s *resultReader) error) error {
	return e.readFrom(ctx, what, e.questions, func(ctx context.Context, conn *pgx.Conn) (engine.State, error) {
		s := &resultReader{engine: e, cluster: e.cluster, shared: questions.NewTexts()}
		var own engine.State // By which the database is known again.
		err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			s.tx = tx
			if e.pooled {
				sql, args := e.beginTransaction(questionSettings(), repeatableRead)
				if _, err := tx.Exec(ctx, sql, args...); err != nil {
					return err
				}
			}
			if err := s.look(ctx); err != nil {
				return err
			}
			own = s.state
			if cluster != "" {
				if err := s.turn(ctx, cluster); err != nil {
					return err
				}
			}
			return work(ctx, s)
		})
		return own, err
	})
}

// look reads the state of the cluster that is asked about.
func (s *resultReader) look(ctx context.Context) error {
	var tallied int
	if err := s.tx.QueryRow(ctx, questionStateSQL, s.cluster).Scan(append(stateFields(&s.state), &tallied)...); err != nil {
		return noCounter(err)
	}
	s.tallied = tallied == tallyIsKept
	return nil
}

// query runs a statement.
func (s *resultReader) query(ctx context.Context, q *question, how planning) (pgx.Rows, error) {
	if err := s.plan(ctx, how); err != nil {
		return nil, err
	}
	return s.tx.Query(ctx, q.String(), q.Args...)
}

// plan says how the next statements are planned.
func (s *resultReader) plan(ctx context.Context, how planning) error {
	if how == s.planning {
		return nil
	}
	names, values := how.settings().columns()
	_, err := s.tx.Exec(ctx, localSettingsSQL, names, values)
	if err == nil {
		s.planning = how
	}
	return err
}

// Places implements questions.Tables. What was not moved to the counters yet may be anything.
func (s *resultReader) Places(ctx context.Context, counted *engine.Filter, from questions.Place, _ int) ([]questions.Place, error) {
	if !isText(from.Namespace) || !isText(from.Kind) {
		from = questions.Place{} // The caller leaves out what is too much.
	}
	sql := newQuestion(s.cluster)
	how := freePlans
	if s.tallied {
		how = countPlans
	}
	sql.addPlaces(counted, from, s.tallied)
	rows, err := s.query(ctx, sql, how)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p questions.Place, err error) {
		return p, row.Scan(&p.Namespace, &p.Kind)
	})
}

// Selective implements questions.Tables.
func (s *resultReader) Selective(
	ctx context.Context, part engine.Part, condition questions.Condition, namespace *string, limit int,
) ([]engine.ReportPlace, bool, error) {
	if namespace != nil && !isText(*namespace) {
		return nil, true, nil
	}
	var ids []int64
	switch {
	case condition.Subject != nil:
		ids = []int64{*condition.Subject}
	case part&(engine.PartVerdict|engine.PartSubject) != 0:
		sql := newQuestion(s.cluster)
		sql.addIDs(part, condition.Filter, limit+1)
		rows, err := s.query(ctx, sql, freePlans)
		if err != nil {
			return nil, false, err
		}
		if ids, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil || len(ids) == 0 || len(ids) > limit {
			return nil, err == nil && len(ids) == 0, err
		}
	}
	sql := newQuestion(s.cluster)
	sql.addSelective(part, condition.Filter, ids, namespace, limit+1)
	rows, err := s.query(ctx, sql, plansOf(part, ids))
	if err != nil {
		return nil, false, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p engine.ReportPlace, err error) {
		return p, row.Scan(&p.Namespace, &p.Kind, &p.Name)
	})
	if err != nil || len(found) > limit {
		return nil, false, err
	}
	return found, true, nil
}

// plansOf returns how addSelective is planned.
func plansOf(part engine.Part, ids []int64) planning {
	switch {
	case ids == nil:
		return freePlans
	case part == engine.PartVerdict:
		return bitmapPlans
	}
	return fixedPlans
}

// Read implements questions.Tables.
func (s *resultReader) Read(ctx context.Context, windows []questions.Window, condition questions.Condition, limit int) ([]questions.Row, error) {
	in, err := s.windows(ctx, windows)
	if err != nil || len(in.resources) == 0 {
		return nil, err
	}
	sql := newQuestion(s.cluster)
	sql.addRows(in, condition, limit, !windows[0].IsOne() && !condition.Confined)
	return s.readRows(ctx, sql, fixedPlans)
}

// windowArrays are windows as parameters.
type windowArrays struct {
	resources                   []int16
	from, to, namespaces, kinds []string
}

// windows returns windows as arrays. Those of which there can be no objects are left out.
func (s *resultReader) windows(ctx context.Context, windows []questions.Window) (in windowArrays, err error) {
	known := map[engine.Resource]int16{}
	for _, w := range windows {
		id, ok := known[w.Resource]
		if !ok {
			if id, err = s.engine.resources.find(ctx, s.tx, w.Resource); err != nil {
				return in, err
			}
			known[w.Resource] = id
		}
		if id == unknownResource || !isText(w.Namespace) || !isText(w.From) || !isText(w.To) {
			continue
		}
		in.resources = append(in.resources, id)
		in.from, in.to = append(in.from, w.From), append(in.to, w.To)
		in.namespaces, in.kinds = append(in.namespaces, w.Namespace), append(in.kinds, w.Kind)
	}
	return in, nil
}

// CountCounters implements questions.Tables.
func (s *resultReader) CountCounters(ctx context.Context, q *engine.CountQuery, filter *engine.Filter) (engine.Counts, error) {
	sql := newQuestion(s.cluster)
	sql.addCounters(q, filter)
	return s.count(ctx, q, sql, countPlans)
}

// CountResults implements questions.Tables.
func (s *resultReader) CountResults(ctx context.Context, q *engine.CountQuery, from questions.Selection) (engine.Counts, error) {
	sql := newQuestion(s.cluster)
	sql.addResults(q, from.Filter)
	return s.count(ctx, q, sql, freePlans)
}

// count runs a statement that answers a query.
func (s *resultReader) count(ctx context.Context, q *engine.CountQuery, sql *question, how planning) (engine.Counts, error) {
	rows, err := s.query(ctx, sql, how)
	if err != nil {
		return engine.Counts{}, err
	}
	var answer engine.Counts
	answer.Counts, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (engine.Count, error) {
		count := engine.Count{}
		if len(q.By) > 0 {
			count.Values = make([]string, len(q.By))
		}
		fields := []any{&count.Results, &count.Subjects, &count.Namespaces, &count.Policies, &count.Sources, &count.Oldest, &count.Newest}
		for i := range count.Values {
			fields = append(fields, &count.Values[i])
		}
		return count, row.Scan(fields...)
	})
	if len(answer.Counts) > q.Limit {
		answer.Counts, answer.More = answer.Counts[:q.Limit], true
	}
	return answer, err
}
