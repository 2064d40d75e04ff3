// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import "strings"

// Parts of the statement that lists. They are put together from these constants
// alone; values are parameters. Names of CTEs:
//
//   - probe: ids of objects that the driving condition selects, at most cap + 1,
//   - present: current rows that were there at the wanted revision,
//   - changed: the first event after that revision of each key that has one,
//   - page: what is read, a row more than is returned. A limit of NULL is none,
//   - tail: the last key that is returned,
//   - behind: how many keys follow it, up to a bound.
const (
	// termsServe says, as of the snapshot that the rows are of, whether no index term is missing.
	termsServe = `(SELECT complete >= @derivation AND highest <= @derivation::int2 + 1 ` + namedTotal + `)`

	// endOfKeys is above every key that checkOps lets through.
	endOfKeys = `repeat(chr(1114111), 501)`

	keyRange = `cluster = @cluster AND resource = @resource AND key >= @lower AND key < coalesce(@upper, ` + endOfKeys + `)`

	// scanKeys walks the primary key from @lower on and stops at the limit.
	scanKeys = `SELECT ` + rowColumns + ` FROM docket.object o WHERE ` + keyRange
	inOrder  = ` ORDER BY key LIMIT @limit`

	// notChanged leaves out rows that a snapshot at @at must take from history.
	notChanged = ` AND revision <= @at`

	// meetsAll reads the few terms of an object by the index term_object. It stays
	// a subquery for each row, and no join, since it aggregates.
	meetsAll = ` AND (
		SELECT count(DISTINCT c.number)
		FROM docket.term t
		JOIN unnest(@numbers::int4[], @names::int8[], @values::int8[], @anys::bool[]) AS c(number, name, value, any_value)
			ON c.name = t.name AND (c.any_value OR c.value = t.value)
		WHERE t.cluster = @cluster AND t.created = o.created
	) = @conditions`

	// probeTerms reads the index term_value only, a range for each value. Why not
	// value = ANY: without statistics that becomes a filter of all of a name.
	probeTerms = `SELECT created FROM docket.term WHERE cluster = @cluster AND resource = @resource AND name = @name`
	probeOneOf = `SELECT t.created FROM unnest(@driving::int8[]) AS v(value)
	CROSS JOIN LATERAL (` + probeTerms + ` AND value = v.value` + upToCap + `) t`
	upToCap = ` LIMIT @cap::int8 + 1`
	few     = `(SELECT count(*) <= @cap FROM probe)`

	// candidates looks each one up by the index object_created. OFFSET 0 keeps the
	// planner from turning the join around.
	candidates = `SELECT ` + rowColumns + ` FROM (SELECT DISTINCT created AS id FROM probe) p
	CROSS JOIN LATERAL (
		SELECT * FROM docket.object WHERE cluster = @cluster AND created = p.id OFFSET 0
	) o WHERE ` + few + ` AND ` + keyRange

	// undoColumns are rowColumns as they were before an event.
	undoColumns = `key, previous_revision AS revision, created, 0::int8 AS expires_at,
		previous_size AS size, previous_codec AS codec, previous_data AS data`

	// changedByKey walks the index event_key, changedByRevision the primary key of
	// events. asFarAsPresent leaves out keys behind a full page.
	firstChanges = `changed AS MATERIALIZED (
	SELECT DISTINCT ON (key) * FROM docket.event WHERE `
	changedByKey      = keyRange + ` AND revision > @at`
	asFarAsPresent    = ` AND key <= coalesce((SELECT max(key) FROM present HAVING count(*) >= @limit), ` + endOfKeys + `)`
	changedByRevision = `cluster = @cluster AND revision > @at AND resource + 0 = @resource AND key || '' >= @lower
		AND key || '' < coalesce(@upper, ` + endOfKeys + `)`

	undonePage = `page AS MATERIALIZED (
	SELECT * FROM present
	UNION ALL (SELECT ` + undoColumns + ` FROM changed WHERE previous_revision > 0` + inOrder + `)` + inOrder + `)`

	lastKey = `tail AS MATERIALIZED (
	SELECT max(key) AS key FROM (SELECT key FROM page ORDER BY key LIMIT @limit::int8 - 1) p)`

	// allKeys is the number of objects of the resource.
	allKeys = `coalesce((SELECT objects ` + namedTotal + `), 0)`
	// behindPage counts keys by an index-only scan of the primary key, up to a bound.
	behindPage = `behind AS MATERIALIZED (
	SELECT count(*) AS keys FROM (SELECT FROM docket.object WHERE cluster = @cluster AND resource = @resource
		AND key > (SELECT key FROM tail) AND key < coalesce(@upper, ` + endOfKeys + `) LIMIT @bound::int8 + 1) k)`
	// boundedFrom and boundedTo tell how many are left, if that was counted.
	boundedFrom = `(SELECT CASE WHEN keys <= @bound THEN keys`
	boundedTo   = ` ELSE -1 END FROM behind)::int8`
	// countUndone corrects it by the keys that came and went since.
	countUndone = ` + (SELECT coalesce(sum((c.previous_revision > 0)::int4 - (o.key IS NOT NULL)::int4), 0)
		FROM changed c LEFT JOIN docket.object o ON o.cluster = @cluster AND o.resource = @resource AND o.key = c.key
		WHERE c.key > (SELECT key FROM tail))`
)

// listShape is what the text of the statement depends on.
type listShape struct {
	conditions int
	// anyValue of the driving condition will do.
	anyValue bool
	// old snapshots are read by undoing events; longAgo ones by key.
	old, longAgo bool
	count        bool
	// whole is the first page of all there is now, without conditions: its count is
	// that of all, which sums know.
	whole bool
}

// sql puts the statement together.
func (s listShape) sql() string {
	var with []string
	if s.conditions > 0 {
		with = append(with, `probe AS MATERIALIZED (`+probeSQL(s.anyValue)+`)`)
	}
	if s.old {
		with = append(with, `present AS MATERIALIZED (`+s.present()+`)`, s.changed(), undonePage)
	} else {
		with = append(with, `page AS MATERIALIZED (`+s.present()+`)`)
	}
	remaining, served := `-1::int8`, `true`
	if s.conditions > 0 {
		served = `coalesce(` + termsServe + `, true)`
	}
	switch {
	case s.whole:
		remaining = allKeys
	case s.count:
		with = append(with, lastKey, behindPage)
		undone := ""
		if s.old {
			undone = countUndone
		}
		remaining = boundedFrom + undone + boundedTo
	}
	return `WITH ` + strings.Join(with, `, `) + `
SELECT ` + stateColumns + `, ` + remaining + `, ` + served + `,
	p.key, p.revision, p.created, p.expires_at, p.size, p.codec, p.data
FROM ` + namedCounter + ` r LEFT JOIN page p ON true`
}

// present selects current rows, in order and up to the limit.
func (s listShape) present() string {
	unchanged, check := "", ""
	if s.old {
		unchanged = notChanged
	}
	if s.conditions == 0 {
		return scanKeys + unchanged + inOrder
	}
	if s.conditions > 1 {
		check = meetsAll
	}
	return `(` + candidates + unchanged + check + inOrder + `)
	UNION ALL (` + scanKeys + ` AND NOT ` + few + unchanged + meetsAll + inOrder + `)`
}

// changed selects what has to be undone, by the index that has less to skip.
func (s listShape) changed() string {
	switch {
	case !s.longAgo:
		return firstChanges + changedByRevision + ` ORDER BY key, revision)`
	case s.count: // Keys behind the page count.
		return firstChanges + changedByKey + ` ORDER BY key, revision)`
	}
	return firstChanges + changedByKey + asFarAsPresent + ` ORDER BY key, revision)`
}

// probeSQL selects the candidates of the driving condition.
func probeSQL(anyValue bool) string {
	if anyValue {
		return probeTerms + upToCap
	}
	return probeOneOf + upToCap
}
