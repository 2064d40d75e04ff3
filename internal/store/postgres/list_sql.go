// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"strconv"
	"strings"
)

// Parts of the statement that lists. They are put together from these constants
// alone; values are parameters. Names of CTEs:
//
//   - driving: values of the first condition, which leads to objects,
//   - found: keys of objects that meet the conditions, in order and up to the limit,
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

	ofName = `cluster = @cluster AND resource = @resource AND name = @name0`

	// givenValues selects the values of the driving condition.
	givenValues = `driving AS MATERIALIZED (SELECT DISTINCT value FROM unnest(@values0::int8[]) AS v(value))`
	// allValues selects all values of its name, each from the one before: if few objects have the name, or it has few
	// values.
	allValues = `most AS MATERIALIZED (
	SELECT CASE WHEN count(*) <= @objects THEN @objects::int8 ELSE @distinct::int8 END AS values
	FROM (SELECT FROM docket.term WHERE ` + ofName + ` LIMIT @objects::int8 + 1) t
), driving AS MATERIALIZED (
	WITH RECURSIVE next (value) AS (
		(SELECT value FROM docket.term WHERE ` + ofName + ` ORDER BY value LIMIT 1)
		UNION ALL
		SELECT (SELECT value FROM docket.term WHERE ` + ofName + ` AND value > n.value ORDER BY value LIMIT 1)
		FROM next n WHERE n.value IS NOT NULL
	)
	SELECT value FROM next WHERE value IS NOT NULL LIMIT (SELECT values + 1 FROM most)
)`
	few = `(SELECT count(*) FROM driving) <= (SELECT values FROM most)`

	// foundOf reads a range of the index term_value for each value. Why not value = ANY: it has no order of keys. Terms
	// without a key are as many as objects in a commit, at most. OFFSET 0 keeps the planner from turning a join around.
	foundOf = `found AS MATERIALIZED (
	SELECT DISTINCT k.key AS place FROM driving v CROSS JOIN LATERAL (`
	termOfValue = ` WHERE t.cluster = @cluster AND t.resource = @resource AND t.name = @name0 AND t.value = v.value`
	keyedTerms  = `SELECT t.key FROM docket.term t`
	itsObject   = ` CROSS JOIN LATERAL (
			SELECT revision FROM docket.object WHERE cluster = @cluster AND resource = @resource AND key = t.key OFFSET 0
		) o`
	inKeyRange   = ` AND t.key > '' AND t.key >= @lower AND t.key < coalesce(@upper, ` + endOfKeys + `)`
	keylessTerms = `SELECT o.key FROM docket.term t CROSS JOIN LATERAL (
			SELECT key, revision FROM docket.object WHERE cluster = @cluster AND created = t.created OFFSET 0
		) o` + termOfValue + ` AND t.key = '' AND o.key >= @lower AND o.key < coalesce(@upper, ` + endOfKeys + `)`
	endOfFound = `
	) k`
	inPlace = ` ORDER BY place LIMIT @limit)`

	// foundRows looks each key up by the primary key.
	foundRows = `SELECT ` + rowColumns + ` FROM found f CROSS JOIN LATERAL (
		SELECT * FROM docket.object WHERE cluster = @cluster AND resource = @resource AND key = f.place OFFSET 0
	) o`

	// reachOfValues tells how many terms a condition has from @lower on, up to a rank, and how far the last of these is.
	// Those without a key are too few to count.
	reachOfValues = `SELECT count(*), coalesce(max(key), '') FROM (
	SELECT k.key FROM unnest(@values0::int8[]) AS v(value) CROSS JOIN LATERAL (
		` + keyedTerms + termOfValue + inKeyRange + ` ORDER BY t.key LIMIT @rank
	) k ORDER BY k.key LIMIT @rank
) r`
	reachOfName = `SELECT count(*), '' FROM (SELECT FROM docket.term WHERE ` + ofName + ` LIMIT @rank) r`

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
	// whole is the first page of all there is now, without conditions: its count is that of all, which sums know.
	whole bool
}

// sql puts the statement together.
func (s listShape) sql() string {
	var with []string
	if s.conditions > 0 {
		with = append(with, s.driving(), s.found())
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
	unchanged := ""
	if s.old {
		unchanged = notChanged
	}
	switch {
	case s.conditions == 0:
		return scanKeys + unchanged + inOrder
	case s.anyValue:
		return foundRows + `
	UNION ALL (` + scanKeys + ` AND NOT ` + few + unchanged + s.meets(0, `o.created`) + inOrder + `)`
	}
	return foundRows
}

// meets checks conditions from the first one on by the few terms of an object, in the index term_object. LIMIT 1
// keeps that a look-up for each object.
func (s listShape) meets(first int, created string) string {
	var check strings.Builder
	for i := first; i < s.conditions; i++ {
		n := strconv.Itoa(i)
		check.WriteString(` AND (SELECT true FROM docket.term WHERE cluster = @cluster AND created = ` + created + `
			AND name = @name` + n + ` AND (@any` + n + `::bool OR value = ANY(@values` + n + `::int8[])) LIMIT 1)`)
	}
	return check.String()
}

// driving selects the values of the driving condition.
func (s listShape) driving() string {
	if s.anyValue {
		return allValues
	}
	return givenValues
}

// found selects keys by the driving condition, and drops what a later limit must not count.
func (s listShape) found() string {
	object, check := "", ""
	if s.old {
		object, check = itsObject, ` AND o.revision <= @at`
	}
	check += s.meets(1, `t.created`)
	end := endOfFound
	if s.anyValue {
		end += ` WHERE ` + few
	}
	return foundOf + `
		(` + keyedTerms + object + termOfValue + inKeyRange + check + ` ORDER BY t.key LIMIT @limit)
		UNION ALL
		(` + keylessTerms + check + `)` + end + inPlace
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
