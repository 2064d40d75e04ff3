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

// Questions about results have connections of their own. A statement that may take long does all of its work before its
// first row, or returns a row for each result, because SQLite can only be interrupted before the first row.

// questionTimeout bounds an answer.
const questionTimeout = 30 * time.Second

// askTables is the questions.Ask of the engine's answers.
func (e *Engine) askTables(ctx context.Context, what, cluster string, f func(context.Context, questions.Tables) error) error {
	return classify(what, e.ask(ctx, cluster, func(s *resultReader) error { return f(s.ctx, s) }))
}

// resultReader is a snapshot in which a question is answered.
type resultReader struct {
	*snapshot

	// cluster is the one that is asked about.
	cluster int64
	// tallied says that counters are kept.
	tallied bool
	// shared is what rows that were read so far refer to.
	shared *questions.Texts
}

var _ questions.Tables = (*resultReader)(nil)

// State implements questions.Tables.
func (s *resultReader) State() engine.State { return s.state }

// Tallied implements questions.Tables.
func (s *resultReader) Tallied() bool { return s.tallied }

// Plans implements questions.Tables.
func (s *resultReader) Plans() bool { return false }

// ask runs f in a snapshot of its own, on a connection for questions, about a cluster: "" for the engine's own. Its
// context also ends with the engine.
func (e *Engine) ask(ctx context.Context, cluster string, f func(s *resultReader) error) error {
	c, err := take(ctx, e, e.questions.conns)
	if err != nil {
		return err
	}
	defer func() { e.questions.conns <- c }()
	if c == nil {
		if c, err = connectReader(e.options); err != nil {
			return err
		}
	}
	own, done := e.untilClosed(ctx)
	defer done()
	err = e.readOn(own, c, func(s *snapshot) error {
		about := &resultReader{snapshot: s, cluster: e.cluster, shared: questions.NewTexts()}
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

// untilClosed returns a context that also ends with the engine, or after questionTimeout.
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

// Places implements questions.Tables.
func (s *resultReader) Places(_ context.Context, counted *engine.Filter, from questions.Place, enough int) ([]questions.Place, error) {
	var found []questions.Place
	sql := newQuestion()
	if !s.tallied {
		sql.Add("SELECT DISTINCT r.namespace, r.kind FROM report AS r WHERE r.cluster = ", s.cluster, " ORDER BY r.namespace, r.kind")
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
	}, sql.String(), sql.Args...)
	return found, err
}

// windows returns windows as the JSON that statements take: names of Kubernetes and numbers.
func (s *resultReader) windows(windows []questions.Window) (string, error) {
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

// windowsOf returns the windows of a selection, "" for everywhere.
func (s *resultReader) windowsOf(from questions.Selection) (string, error) {
	if from.Whole {
		return "", nil
	}
	return s.windows(from.Windows)
}

const (
	selectReadable = "SELECT c.id, r.min_reader FROM cluster AS c JOIN revision AS r ON r.cluster = c.id WHERE c.name = ?"

	// selectKnown has the names of resources as parameter ?1, as JSON, and the cluster that is served as ?2. A
	// cluster's newest event is the last one by the primary key.
	selectKnown = `SELECT c.name, c.created_at,
coalesce((SELECT e.committed_at FROM event AS e WHERE e.cluster = c.id ORDER BY e.revision DESC LIMIT 1), 0),
(SELECT coalesce(sum(t.objects), 0) FROM resource AS r JOIN total AS t ON t.cluster = c.id AND t.resource = r.id WHERE r.name IN (SELECT value FROM json_each(?1))),
(SELECT coalesce(sum(t.results), 0) FROM total AS t WHERE t.cluster = c.id), c.id = ?2
FROM cluster AS c ORDER BY c.name`
)

// turn makes a cluster the one that is asked about.
func (s *resultReader) turn(cluster string) error {
	var demands engine.Demands
	found, err := s.one(into(&s.cluster, &demands.Reader), selectReadable, cluster)
	switch {
	case err != nil:
		return err
	case !found:
		return engine.UnknownCluster(cluster)
	}
	if err := demands.Readable(); err != nil {
		return err
	}
	s.counters, err = readCounters(s.conn, s.cluster)
	return err
}

// Clusters implements engine.Questions. One process has the file, and serves one cluster.
func (e *Engine) Clusters(ctx context.Context, kinds []engine.ReportKind) (clusters []engine.Cluster, err error) {
	list, err := json.Marshal(engine.ResourceNames(kinds))
	if err != nil {
		return nil, err
	}
	err = e.ask(ctx, "", func(s *resultReader) error {
		return s.query(s.ctx, func(row []driver.Value) error {
			var c engine.Cluster
			var seen, changed, served int64
			scan(row, &c.Name, &seen, &changed, &c.Reports, &c.Results, &served)
			c.FirstSeen, c.Servers = time.UnixMilli(seen), int(served)
			if changed != 0 {
				c.Changed = time.UnixMilli(changed)
			}
			clusters = append(clusters, c)
			return nil
		}, selectKnown, string(list), s.cluster)
	})
	return clusters, classify("list the clusters", err)
}

// Selective implements questions.Tables.
func (s *resultReader) Selective(_ context.Context, part engine.Part, condition questions.Condition, namespace *string, limit int) ([]engine.ReportPlace, bool, error) {
	if part == engine.PartSubject {
		return s.selectiveAbout(condition, namespace, limit)
	}
	var found []engine.ReportPlace
	for _, way := range waysTo[part] {
		sql := newQuestion()
		sql.addSelective(way, s.cluster, condition.Filter, limit+1-len(found))
		more, err := s.reportPlaces(sql)
		if found = append(found, more...); err != nil || len(found) > limit {
			return nil, false, err
		}
	}
	return found, true, nil
}

// selectiveAbout is Selective for subjects. That these alone are more than the limit is answer enough: what nothing is
// about any more goes in time.
func (s *resultReader) selectiveAbout(condition questions.Condition, namespace *string, limit int) ([]engine.ReportPlace, bool, error) {
	subjects, err := s.subjects(condition, limit+1)
	if err != nil || len(subjects) > limit {
		return nil, false, err
	}
	if len(subjects) == 0 {
		return nil, true, nil
	}
	numbers, err := json.Marshal(subjects)
	if err != nil {
		return nil, false, err
	}
	var found []engine.ReportPlace
	for _, way := range waysToSubjects {
		sql := newQuestion()
		sql.addAbout(way, s.cluster, string(numbers), namespace, limit+1-len(found))
		more, err := s.reportPlaces(sql)
		if found = append(found, more...); err != nil || len(found) > limit {
			return nil, false, err
		}
	}
	return found, true, nil
}

// subjects returns the first subjects that meet a condition, by their numbers.
func (s *resultReader) subjects(condition questions.Condition, limit int) (numbers []int64, err error) {
	if condition.Subject != nil {
		return []int64{*condition.Subject}, nil
	}
	sql := newQuestion()
	sql.addSubjects(s.cluster, condition.Filter, limit)
	err = s.scan(func(row []driver.Value) error {
		numbers = append(numbers, row[0].(int64))
		return nil
	}, sql.String(), sql.Args...)
	return numbers, err
}

// reportPlaces returns the reports that a statement selects.
func (s *resultReader) reportPlaces(sql *question) (found []engine.ReportPlace, err error) {
	err = s.scan(func(row []driver.Value) error {
		var place engine.ReportPlace
		scan(row, &place.Namespace, &place.Kind, &place.Name)
		found = append(found, place)
		return nil
	}, sql.String(), sql.Args...)
	return found, err
}
