// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// fewObjects have a name, or there are fewDistinct values of it: then all of these are read in the order of
	// keys. Otherwise objects are, and each is checked.
	fewObjects, fewDistinct = 10_000, 100
	// rankedConditions is how many conditions are asked how far they reach. The others only filter.
	rankedConditions = 8
	// undoByRevision is how far back an old snapshot may lie for the changes since to be read in the order of
	// revisions. Beyond, they are read by key, where the history of other keys doesn't matter.
	undoByRevision = 5_000
)

// List implements engine.Engine.
func (e *Engine) List(ctx context.Context, q engine.Query) (engine.Page, error) {
	if q.At < 0 {
		return engine.Page{}, fmt.Errorf("list: revision %d is negative", q.At)
	}
	lower, upper, empty, err := keyBounds(q)
	if err != nil {
		return engine.Page{}, fmt.Errorf("list: %w", err)
	}
	var page engine.Page
	err = e.read(ctx, "list", func(ctx context.Context, conn session) (engine.State, error) {
		page = engine.Page{Remaining: -1}
		resource, state, err := e.resource(ctx, conn, q.Resource)
		if err != nil || resource == unknownResource {
			page = emptyPage(state, q.Count)
			return state, err
		}
		if empty {
			resource = unknownResource
		}
		args := pgx.NamedArgs{"cluster": e.cluster, "resource": resource, "lower": lower, "upper": upper, "limit": nil}
		if q.Limit > 0 {
			args["limit"] = int64(q.Limit) + 1 // One more reports whether there are more.
		}
		shape := listShape{
			conditions: len(q.Conditions), count: q.Count, whole: q.Count && isWhole(q),
			old: q.At > 0, longAgo: int64(q.At) < e.seen.Load()-undoByRevision,
		}
		if q.At > 0 {
			args["at"] = int64(q.At)
		}
		if q.Count {
			args["bound"] = int64(engine.CountCap)
		}
		if len(q.Conditions) > 0 {
			if shape.anyValue, err = addConditions(ctx, conn, q.Conditions, args); err != nil {
				return page.State, err
			}
			args["derivation"] = q.Derivation
		}
		served, err := readPage(ctx, conn, shape.sql(), args, &page)
		if err == nil && !served {
			// Some terms are missing: all rows, in the order of keys.
			shape.conditions, page = 0, engine.Page{Remaining: -1}
			_, err = readPage(ctx, conn, shape.sql(), args, &page)
		}
		return page.State, err
	})
	if err != nil {
		return engine.Page{}, err
	}
	if err := checkSnapshot(q.At, page.State); err != nil {
		return engine.Page{}, err
	}
	if q.Limit > 0 && len(page.Rows) > q.Limit {
		page.Rows, page.More = page.Rows[:q.Limit], true
	}
	if q.Count && isWhole(q) {
		page.Remaining -= int64(len(page.Rows))
	}
	return page, nil
}

// checkSnapshot returns an error if the state has no snapshot of a revision; 0 is the current one.
func checkSnapshot(at engine.Revision, state engine.State) error {
	switch {
	case at > 0 && at < state.Compacted:
		return fmt.Errorf("list at %d: %w up to %d", at, engine.ErrCompacted, state.Compacted)
	case state.Gap.Has(at):
		return leftOut("list at", at, state.Gap)
	case at > state.Revision:
		return fmt.Errorf("list at %d: %w, the present one is %d", at, engine.ErrFuture, state.Revision)
	}
	return nil
}

// emptyPage is the page of a resource without objects.
func emptyPage(state engine.State, count bool) engine.Page {
	if count {
		return engine.Page{State: state}
	}
	return engine.Page{State: state, Remaining: -1}
}

// isWhole reports whether a query begins with the first of all objects that there are now.
func isWhole(q engine.Query) bool {
	return q.Prefix == "" && q.After == "" && q.At == 0 && len(q.Conditions) == 0
}

// keyBounds turns prefix and after into a range of keys: from lower on, and below
// upper unless it is nil. empty says that no key can be in it.
func keyBounds(q engine.Query) (lower string, upper *string, empty bool, err error) {
	if !isText(q.Prefix) {
		return "", nil, true, nil
	}
	after, inclusive := q.After, q.Inclusive
	if !utf8.ValidString(after) {
		return "", nil, false, errors.New("the key to continue after is not UTF-8")
	}
	// Stored keys have no NUL: the same keys are above "a\x00b" and "a".
	if before, _, found := strings.Cut(after, "\x00"); found {
		after, inclusive = before, false
	}
	lower = q.Prefix
	if q.After != "" {
		if !inclusive {
			after += "\x01" // The least that follows, again since there is no NUL.
		}
		lower = max(lower, after)
	}
	if end := successor(q.Prefix); end != "" {
		upper = &end
	}
	return lower, upper, false, nil
}

// successor returns the least string above all that start with prefix; "" when
// there is none. The order of UTF-8 is that of code points.
func successor(prefix string) string {
	for prefix != "" {
		last, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch last {
		case utf8.MaxRune:
			continue
		case 0xD7FF: // What follows are surrogates, which UTF-8 has not.
			return prefix + "\uE000"
		}
		return prefix + string(last+1)
	}
	return ""
}

// reach is how many terms a condition has from the start of a page on, up to a rank, and the key of the last one.
type reach struct {
	terms int64
	key   string
}

// ranks up to which conditions are asked how far they reach. Each value is read as far.
func ranks(conditions []engine.Condition) []int64 {
	values := 1
	for _, condition := range conditions {
		values = max(values, len(condition.Values))
	}
	return []int64{1_000, max(1_000, 20_000/int64(values))}
}

// addConditions adds the parameters of conditions, the driving one first, and reports whether that takes any value.
func addConditions(
	ctx context.Context, conn session, conditions []engine.Condition, args pgx.NamedArgs,
) (anyValue bool, err error) {
	driving, err := mostSelective(ctx, conn, conditions, args)
	if err != nil {
		return false, err
	}
	conditions = slices.Clone(conditions)
	conditions[0], conditions[driving] = conditions[driving], conditions[0]
	for i, condition := range conditions {
		addCondition(args, i, condition)
	}
	args["objects"], args["distinct"] = int64(fewObjects), int64(fewDistinct)
	return len(conditions[0].Values) == 0, nil
}

func addCondition(args pgx.NamedArgs, i int, condition engine.Condition) {
	n := strconv.Itoa(i)
	args["name"+n], args["values"+n], args["any"+n] = condition.Name, condition.Values, len(condition.Values) == 0
}

// mostSelective returns which condition the fewest objects meet. Planning is not left to statistics. Of conditions
// that many meet it is the one whose first thousands reach furthest in the order of keys: on the way there it has
// the fewest candidates.
func mostSelective(ctx context.Context, conn session, conditions []engine.Condition, args pgx.NamedArgs) (driving int, err error) {
	if len(conditions) == 1 {
		return 0, nil
	}
	conditions = conditions[:min(len(conditions), rankedConditions)]
	for _, rank := range ranks(conditions) {
		reaches, err := reachesOf(ctx, conn, conditions, args, rank)
		if err != nil {
			return 0, err
		}
		for i, r := range reaches {
			current := reaches[driving]
			if r.terms < current.terms || r.terms == current.terms && r.key > current.key {
				driving = i
			}
		}
		if reaches[driving].terms < rank {
			break
		}
	}
	return driving, nil
}

// reachesOf asks all conditions in one round trip.
func reachesOf(
	ctx context.Context, conn session, conditions []engine.Condition, args pgx.NamedArgs, rank int64,
) ([]reach, error) {
	var pipeline pgx.Batch
	for _, condition := range conditions {
		sql, own := reachOfValues, maps.Clone(args)
		if len(condition.Values) == 0 {
			sql = reachOfName
		}
		addCondition(own, 0, condition)
		own["rank"] = rank
		pipeline.Queue(sql, own)
	}
	results := conn.SendBatch(ctx, &pipeline)
	reaches := make([]reach, len(conditions))
	for i := range reaches {
		if err := results.QueryRow().Scan(&reaches[i].terms, &reaches[i].key); err != nil {
			return nil, errors.Join(err, results.Close())
		}
	}
	return reaches, results.Close()
}

// readPage runs a statement that listShape made, and reports whether the index terms serve its conditions.
func readPage(ctx context.Context, conn session, sql string, args pgx.NamedArgs, page *engine.Page) (served bool, err error) {
	rows, err := conn.Query(ctx, sql, args)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	var row maybeRow
	targets := append(append(stateFields(&page.State), &page.Remaining, &served), row.fields()...)
	for rows.Next() {
		row.data = nil // Each row gets bytes of its own.
		if err := rows.Scan(targets...); err != nil {
			return false, err
		}
		if row.key != nil {
			page.Rows = append(page.Rows, row.row())
		}
	}
	if err := rows.Err(); err != nil {
		return false, err
	}
	if rows.CommandTag().RowsAffected() == 0 {
		return false, noCounter(pgx.ErrNoRows)
	}
	// SQL promises no order of joined rows.
	slices.SortFunc(page.Rows, func(a, b engine.Row) int { return strings.Compare(a.Key, b.Key) })
	return served, nil
}
