// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/questions"
)

// Questions about results have connections of their own. A statement that may take long does all of its work before its first
// row, or returns a row for each result, because SQLite can only be interrupted before the first row.

// questionTimeout bounds an answer.
const questionTimeout = 30 * time.Second

// Rows implements engine.Questions.
func (e *Engine) Rows(ctx context.Context, q engine.RowQuery) (engine.RowPage, error) {
	err := q.Check()
	var page engine.RowPage
	if err == nil {
		err = e.ask(ctx, "", func(s *asked) (err error) {
			page, err = questions.Rows(s.ctx, s, q)
			page.State = s.state
			return err
		})
	}
	if err != nil {
		return engine.RowPage{}, classify("read results", err)
	}
	return page, nil
}

// RowsAbout implements engine.Questions.
func (e *Engine) RowsAbout(ctx context.Context, namespace string, kinds []engine.ReportKind, id int64) (engine.RowPage, error) {
	var page engine.RowPage
	err := e.ask(ctx, "", func(s *asked) (err error) {
		page, err = questions.RowsAbout(s.ctx, s, namespace, kinds, id)
		page.State = s.state
		return err
	})
	if err != nil {
		return engine.RowPage{}, classify("read results about a subject", err)
	}
	return page, nil
}

// Count implements engine.Questions.
func (e *Engine) Count(ctx context.Context, q engine.CountQuery) (engine.Counts, error) {
	err := q.Check()
	var counts engine.Counts
	if err == nil {
		err = e.ask(ctx, q.Cluster, func(s *asked) (err error) {
			counts, err = s.count(q)
			counts.State = s.state
			return err
		})
	}
	if err != nil {
		return engine.Counts{}, classify("count results", err)
	}
	return counts, nil
}

// asked is a snapshot in which a question is answered.
type asked struct {
	*snapshot

	// cluster is the one that is asked about.
	cluster int64
	// tallied says that counters are kept.
	tallied bool
	// shared is what rows that were read so far refer to.
	shared *questions.Texts
}

var _ questions.Source = (*asked)(nil)

// ask runs f in a snapshot of its own, on a connection for questions, about a cluster: "" for the engine's own. Its context also
// ends with the engine.
func (e *Engine) ask(ctx context.Context, cluster string, f func(s *asked) error) error {
	if err := e.usable(ctx); err != nil {
		return err
	}
	var c *conn
	select {
	case c = <-e.questions.conns:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-e.closing:
		return engine.ErrClosed
	}
	defer func() { e.questions.conns <- c }()
	if c == nil {
		opened, err := connectReader(e.options)
		if err != nil {
			return err
		}
		c = opened
	}
	own, done := e.untilClosed(ctx)
	defer done()
	err := e.readOn(own, c, func(s *snapshot) error {
		about := &asked{snapshot: s, cluster: e.cluster, shared: questions.NewTexts()}
		if cluster != "" {
			if err := about.turn(cluster); err != nil {
				return err
			}
		}
		tallied, err := s.number(own, isTallied, about.cluster)
		if err != nil {
			return err
		}
		about.tallied = tallied == 1
		return f(about)
	})
	switch cause := e.usable(ctx); {
	case err == nil:
		return nil
	case cause != nil:
		return cause // And not that SQLite was interrupted.
	case own.Err() != nil:
		return fmt.Errorf("%w: there was no answer within %s", engine.ErrUnavailable, e.questionTimeout)
	}
	return err
}

// untilClosed returns a context that ends with the engine, too, and after a while.
func (e *Engine) untilClosed(ctx context.Context) (own context.Context, done func()) {
	own, cancel := context.WithTimeout(ctx, e.questionTimeout)
	go func() {
		select {
		case <-e.closing:
			cancel()
		case <-own.Done():
		}
	}()
	return own, cancel
}

// Places implements questions.Source.
func (s *asked) Places(_ context.Context, counted *engine.Filter, from questions.Place, enough int) ([]questions.Place, error) {
	var found []questions.Place
	var sql sqlText
	if !s.tallied {
		sql.add("SELECT DISTINCT r.namespace, r.kind FROM report AS r WHERE r.cluster = ", s.cluster, " ORDER BY r.namespace, r.kind")
	} else {
		sql.addPlaces(s.cluster, counted, from)
	}
	results := int64(0)
	err := s.scan(func(row []driver.Value) error {
		var place questions.Place
		scan(row, &place.Namespace, &place.Kind)
		found = append(found, place)
		if s.tallied && place != from {
			results += row[2].(int64)
		}
		if enough > 0 && results >= int64(enough) {
			return errStop
		}
		return nil
	}, sql.String(), sql.args...)
	return found, err
}

// Counted implements questions.Source.
func (s *asked) Counted(_ context.Context, q engine.CountQuery) (int64, bool, error) {
	if !s.tallied {
		return 0, false, nil
	}
	counts, err := s.count(q)
	if err != nil {
		return 0, false, err
	}
	return counts.Counts[0].Results, true, nil
}

// windows returns windows as the JSON that statements take: names of Kubernetes and numbers.
func (s *asked) windows(windows []questions.Window) (string, error) {
	list := make([][5]any, 0, len(windows))
	for _, w := range windows {
		resource, err := s.engine.resource(s.conn, w.Resource)
		if err != nil {
			return "", err
		}
		list = append(list, [...]any{resource, w.From, w.To, w.Namespace, w.Kind})
	}
	text, err := json.Marshal(list)
	return string(text), err
}
