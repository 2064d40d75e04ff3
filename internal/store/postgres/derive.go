// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/docket-project/docket/internal/store/engine"
)

// deriveCTEs replaces the rows derived from objects: index terms, reports, results, and the sums of a resource. The
// parts before it must provide
//
//   - stale(resource, object, reports): objects whose rows go, and whether another
//     report takes the place of the one that they may have,
//   - fresh(objects, keys): arrays with the object that each op writes rows for, 0
//     for none, and its key. Rows name their op by its place in them. Why not a join:
//     its cost would be ops times rows,
//   - changes(resource, objects, bytes, results, derivation, revision): what is added to the
//     sums, and which version derived rows in a commit of which revision, null for none,
//   - counter(valid, tallied): whether facts may be written, and whether counters are kept (tally.go).
//
// Rows to delete are looked up one by one, which OFFSET 0 and LIMIT keep so, and deleted by their place: in a join
// with the table a plan that was made while it was empty may read all rows of the cluster for each object. Indexes of
// terms and results by other columns have the cluster, too: cluster + 0 keeps the plan from these.
//
// A term that no other object has gets an empty key, which takes 90 bytes less: so those of a value are as many as
// objects are written by one statement, at most. LIMIT 1 keeps that a look-up in the index term_value.
//
// released are the verdicts and subjects of deleted rows that no row of the same statement refers to.
var deriveCTEs = `dropped_terms AS (
	DELETE FROM docket.term t USING stale s CROSS JOIN LATERAL (
		SELECT ctid AS place FROM docket.term WHERE cluster + 0 = @cluster AND created = s.object OFFSET 0
	) d WHERE t.ctid = d.place
), old_reports AS MATERIALIZED (
	SELECT s.resource, p.*, s.object, s.reports AS replaced FROM stale s CROSS JOIN LATERAL (
		SELECT ctid AS place, scope, namespace, kind, verdicts FROM docket.report WHERE cluster = @cluster AND object = s.object LIMIT 1
	) p
), dropped_reports AS (
	DELETE FROM docket.report p USING old_reports o WHERE p.ctid = o.place AND NOT o.replaced
), dropped_results AS (
	DELETE FROM docket.result r USING stale s CROSS JOIN LATERAL (
		SELECT ctid AS place FROM docket.result WHERE cluster + 0 = @cluster AND object = s.object OFFSET 0
	) d WHERE r.ctid = d.place
	RETURNING s.resource, s.object, r.verdict, r.subject
), released AS MATERIALIZED (
	SELECT (
		SELECT array_agg(v) FROM (
			(SELECT unnest(verdicts) FROM old_reports UNION ALL SELECT verdict FROM dropped_results)
			EXCEPT (SELECT 0 UNION ALL SELECT unnest(@entry_verdicts::int8[]) UNION ALL SELECT unnest(@result_verdicts::int8[]))
		) AS released (v)
	) AS verdicts, (
		SELECT array_agg(s) FROM (
			(SELECT scope FROM old_reports UNION ALL SELECT subject FROM dropped_results)
			EXCEPT (SELECT NULL UNION ALL SELECT unnest(@report_scope::int8[]) UNION ALL SELECT unnest(@result_subjects::int8[]))
		) AS released (s)
	) AS subjects
), added_terms AS (
	INSERT INTO docket.term (cluster, resource, name, value, created, key)
	SELECT @cluster, (@resources::int2[])[t.op], t.name, t.value, (SELECT objects FROM fresh)[t.op], CASE WHEN (
		SELECT true FROM docket.term WHERE cluster = @cluster AND resource = (@resources::int2[])[t.op] AND name = t.name AND value = t.value
			AND created <> (SELECT objects FROM fresh)[t.op] LIMIT 1
	) THEN (SELECT keys FROM fresh)[t.op] ELSE '' END
	FROM unnest(@term_ops::int4[], @term_names::int8[], @term_values::int8[]) AS t(op, name, value)
	WHERE (SELECT objects FROM fresh)[t.op] > 0
), added_reports AS (
	INSERT INTO docket.report (cluster, resource, object, scope, ` + reportTable.list("") + `,
		verdicts, result_seconds, seconds, ordinals)
	SELECT @cluster, (@resources::int2[])[p.op], (SELECT objects FROM fresh)[p.op], p.scope, ` + reportTable.list("p.") + `,
		CASE WHEN p.entries > 0 THEN (@entry_verdicts::int8[])[p.first_verdict : p.first_verdict + p.entries - 1] END, p.result_seconds,
		CASE WHEN p.first_second > 0 THEN (@entry_seconds::int8[])[p.first_second : p.first_second + p.entries - 1] END,
		CASE WHEN p.first_ordinal > 0 THEN (@entry_ordinals::int4[])[p.first_ordinal : p.first_ordinal + p.entries - 1] END
	FROM unnest(@report_ops::int4[], @report_scope::int8[], @report_entries::int4[], @report_first_verdict::int4[], @report_result_seconds::int8[], @report_first_second::int4[],
		@report_first_ordinal::int4[], ` +
	reportTable.arrays() + `)
		AS p(op, scope, entries, first_verdict, result_seconds, first_second, first_ordinal, ` + reportTable.list("") + `)
	WHERE (SELECT objects FROM fresh)[p.op] > 0
	ON CONFLICT (cluster, object) DO UPDATE SET scope = excluded.scope, verdicts = excluded.verdicts,
		result_seconds = excluded.result_seconds, seconds = excluded.seconds, ordinals = excluded.ordinals,
		(` + reportTable.list("") + `) = (` + reportTable.list("excluded.") + `)
	RETURNING object, namespace, kind, verdicts
), added_results AS (
	INSERT INTO docket.result (cluster, object, verdict, subject, seconds, idx, ordinal)
	SELECT @cluster, (SELECT objects FROM fresh)[r.op], r.verdict, r.subject, r.seconds, r.idx, nullif(r.ordinal, 0)
	FROM unnest(@result_ops::int4[], @result_verdicts::int8[], @result_subjects::int8[], @result_seconds::int8[], @result_indexes::int4[],
		@result_ordinals::int4[]) AS r(op, verdict, subject, seconds, idx, ordinal)
	WHERE (SELECT objects FROM fresh)[r.op] > 0
	RETURNING object, verdict
), added_verdicts AS (
	INSERT INTO docket.verdict (cluster, id, ` + verdictTable.list("") + `)
	SELECT @cluster, v.* FROM unnest(@verdict_ids::int8[], ` + verdictTable.arrays() + `) AS v
	WHERE (SELECT valid FROM counter)
	ON CONFLICT DO NOTHING
), added_subjects AS (
	INSERT INTO docket.subject (cluster, id, ` + subjectTable.list("") + `)
	SELECT @cluster, s.* FROM unnest(@subject_ids::int8[], ` + subjectTable.arrays() + `) AS s
	WHERE (SELECT valid FROM counter)
	ON CONFLICT DO NOTHING
), sums AS MATERIALIZED (
	SELECT resource, sum(objects) AS objects, sum(bytes) AS bytes, sum(results) AS results,
		coalesce(min(derivation), 32767) AS complete, coalesce(max(derivation), 0) AS highest, coalesce(max(revision), 0) AS mark
	FROM (
		SELECT resource, objects, bytes, results, derivation, revision FROM changes
		UNION ALL SELECT resource, 0, 0, -1, NULL, NULL FROM dropped_results
		UNION ALL SELECT resource, 0, 0, -(cardinality(verdicts) - cardinality(array_positions(verdicts, 0))), NULL, NULL
			FROM old_reports WHERE verdicts IS NOT NULL
	) c GROUP BY resource
), old_totals AS MATERIALIZED (
	SELECT s.*, t.place, (SELECT revision FROM counter)` + generationOf + ` AS generation
	FROM sums s LEFT JOIN LATERAL (
		SELECT ctid AS place FROM docket.total WHERE cluster + 0 = @cluster AND resource = s.resource` + newestFirst + `
	) t ON true
), changed_totals AS (
	UPDATE docket.total t
	SET objects = t.objects + o.objects, bytes = t.bytes + o.bytes, results = t.results + o.results,
		complete = least(t.complete, o.complete), highest = greatest(t.highest, o.highest),
		mark = CASE WHEN o.complete < t.building THEN o.mark ELSE t.mark END, generation = o.generation
	FROM old_totals o WHERE t.ctid = o.place
), added_totals AS (
	INSERT INTO docket.total (cluster, resource, objects, bytes, results, complete, building, highest, mark, generation)
	SELECT @cluster, resource, objects, bytes, results, complete, complete, highest, mark, generation FROM old_totals WHERE place IS NULL
), ` + tallyCTE

// derivedArgs are the parameters of deriveCTEs: rows as arrays, one for each column.
type derivedArgs struct {
	facts   *factCache
	cluster int32
	// tidied is what facts knows; newFacts are ids that it doesn't know yet.
	tidied   int64
	newFacts []int64
	batch    map[int64]struct{}

	resources             []int16 // of each op
	termOps               []int32
	termNames, termValues []int64

	reportOps []int32
	reports   rowArrays[engine.Projection]
	scopes    []pgtype.Int8
	entries   entryArgs

	resultOps         []int32
	verdicts, seconds []int64
	subjects          []pgtype.Int8
	indexes, ordinals []int32

	verdictIDs  []int64
	newVerdicts rowArrays[engine.Verdict]

	subjectIDs  []int64
	newSubjects rowArrays[engine.Subject]
}

func (d *derivedArgs) start(e *Engine, ops int) {
	d.facts, d.cluster = &e.facts, e.cluster
	d.tidied = d.facts.generation()
	d.batch = map[int64]struct{}{}
	d.resources = make([]int16, ops)
}

// add takes the rows of the op at an index and returns the number of its results.
func (d *derivedArgs) add(op int, index []engine.Term, p *engine.Projection) (int32, error) {
	place, err := int32Count(op + 1) // SQL counts from 1.
	if err != nil {
		return 0, err
	}
	for i, term := range index {
		if slices.Contains(index[:i], term) {
			continue // Each is in the table once.
		}
		d.termOps = append(d.termOps, place)
		d.termNames = append(d.termNames, term.Name)
		d.termValues = append(d.termValues, term.Value)
	}
	if p == nil {
		return 0, nil
	}
	d.reportOps = append(d.reportOps, place)
	d.reports.add(reportTable, p)
	d.scopes = append(d.scopes, d.subject(p.Scope))
	d.entries.start(len(p.Results))
	for i := range p.Results {
		result := &p.Results[i]
		verdict, subject := d.verdict(result.Verdict), result.Subject
		if subject == nil {
			if d.entries.take(result, verdict) {
				continue
			}
			subject = p.Scope // A row has no report to take it from.
		}
		d.resultOps = append(d.resultOps, place)
		d.verdicts = append(d.verdicts, verdict)
		d.subjects = append(d.subjects, d.subject(subject))
		d.seconds = append(d.seconds, result.Seconds)
		d.indexes, d.ordinals = append(d.indexes, result.Index), append(d.ordinals, result.Ordinal)
	}
	if err := d.entries.finish(); err != nil {
		return 0, err
	}
	return int32Count(len(p.Results))
}

// isNew reports whether a fact has to be written, and remembers it.
func (d *derivedArgs) isNew(id int64) bool {
	if _, ok := d.batch[id]; ok {
		return false
	}
	d.batch[id] = struct{}{}
	if d.facts.has(d.tidied, id) {
		return false
	}
	d.newFacts = append(d.newFacts, id)
	return true
}

// verdictID differs between clusters: the index report_verdicts has no cluster, and would find the reports of others.
func verdictID(cluster int32, v *engine.Verdict) int64 {
	return int64(uint64(v.ID()) ^ uint64(cluster)*0x9e3779b97f4a7c15) // 2^64 by the golden ratio, as in Fibonacci hashing.
}

func (d *derivedArgs) verdict(v *engine.Verdict) int64 {
	id := verdictID(d.cluster, v)
	if d.isNew(id) {
		d.verdictIDs = append(d.verdictIDs, id)
		d.newVerdicts.add(verdictTable, v)
	}
	return id
}

func (d *derivedArgs) subject(s *engine.Subject) pgtype.Int8 {
	if s == nil {
		return pgtype.Int8{}
	}
	id := s.ID()
	if d.isNew(id) {
		d.subjectIDs = append(d.subjectIDs, id)
		d.newSubjects.add(subjectTable, s)
	}
	return pgtype.Int8{Int64: id, Valid: true}
}

// set gives the parameters of deriveCTEs their values.
func (d *derivedArgs) set(args *arguments) {
	args.set("cluster", d.cluster)
	args.set("tidied", d.tidied)
	args.set("resources", d.resources)

	args.set("term_ops", d.termOps)
	args.set("term_names", d.termNames)
	args.set("term_values", d.termValues)

	args.set("report_ops", d.reportOps)
	args.set("report_scope", d.scopes)
	d.reports.set(reportTable, args)
	d.entries.set(args)

	args.set("result_ops", d.resultOps)
	args.set("result_verdicts", d.verdicts)
	args.set("result_subjects", d.subjects)
	args.set("result_seconds", d.seconds)
	args.set("result_indexes", d.indexes)
	args.set("result_ordinals", d.ordinals)

	args.set("verdict_ids", d.verdictIDs)
	d.newVerdicts.set(verdictTable, args)
	args.set("subject_ids", d.subjectIDs)
	d.newSubjects.set(subjectTable, args)
}

// isText reports whether PostgreSQL can store a string as it is.
func isText(s string) bool {
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

// text returns what can be stored of a string in a result row. The object keeps the string as it is.
func text(s string) string {
	if isText(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// jsonText is text for JSON, where NUL is an escape that jsonb refuses.
func jsonText(s string) string {
	s = text(s)
	if !strings.Contains(s, `\u0000`) {
		return s
	}
	var out strings.Builder
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 || i+1 == len(s) {
			out.WriteString(s)
			return out.String()
		}
		out.WriteString(s[:i])
		if s = s[i:]; strings.HasPrefix(s, `\u0000`) {
			out.WriteString("\uFFFD")
			s = s[len(`\u0000`):]
			continue
		}
		// The escaped character may be a backslash, which escapes nothing.
		out.WriteString(s[:2])
		s = s[2:]
	}
}

// deriveRowsSQL replaces the rows of objects that are still at a revision, if @tidied is what the cache of facts knows,
// and @incarnation the current one.
var deriveRowsSQL = numbered(`
WITH counter AS MATERIALIZED (
	SELECT incarnation = @incarnation::int8 AND @tidied::int8 IN (-1, tidied) AS valid, incarnation, tidied, revision, tallied FROM ` + namedCounter + ` r
), decided AS MATERIALIZED (
	SELECT i.*, o.created, o.place, (SELECT valid FROM counter) AND o.revision IS NOT NULL AS applies
	FROM unnest(@resources::int2[], @keys::text[], @revisions::int8[], @reports::bool[], @results::int4[], @derivations::int2[]) WITH ORDINALITY
		AS i(resource, key, revision, reports, results, derivation, ordinal)
	LEFT JOIN LATERAL (
		SELECT *, ctid AS place FROM docket.object WHERE cluster = @cluster AND resource = i.resource AND key = i.key LIMIT 1
	) o ON o.revision = i.revision AND o.derived <= i.derivation
), noted AS (
	UPDATE docket.object o SET derived = d.derivation FROM decided d
	WHERE d.applies AND o.derived < d.derivation AND o.ctid = d.place
), stale AS MATERIALIZED (
	SELECT resource, created AS object, reports FROM decided WHERE applies
), fresh AS MATERIALIZED (
	SELECT array_agg(CASE WHEN applies THEN created ELSE 0 END ORDER BY ordinal) AS objects,
		array_agg(key ORDER BY ordinal) AS keys FROM decided
), changes AS (
	SELECT resource, 0 AS objects, 0::int8 AS bytes, results, NULL::int2 AS derivation, NULL::int8 AS revision
	FROM decided WHERE applies
), ` + deriveCTEs + `
SELECT valid, incarnation, tidied, verdicts, subjects FROM counter CROSS JOIN released`)

// deriveSlice is how many objects Derive works on while it holds the counter.
const deriveSlice = 200

// Derive implements engine.Engine.
func (e *Engine) Derive(ctx context.Context, items []engine.Derived) error {
	for len(items) > 0 {
		slice := items[:min(deriveSlice, len(items))]
		items = items[len(slice):]
		err := e.write(ctx, "derive rows", func(ctx context.Context, conn session) error {
			return e.derive(ctx, conn, slice)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) derive(ctx context.Context, conn session, items []engine.Derived) error {
	rows := newDerivedRows(e, len(items))
	for i := range items {
		item := &items[i]
		resource, err := e.resources.find(ctx, conn, item.Resource)
		if err != nil {
			return err
		}
		if rows.results[i], err = rows.add(i, item.Index, item.Projection); err != nil {
			return fmt.Errorf("%s%s: %w", item.Resource, item.Key, err)
		}
		rows.resources[i], rows.derivations[i] = resource, item.Derivation
		rows.keys[i], rows.revisions[i], rows.hasReport[i] = text(item.Key), int64(item.Revision), item.Projection != nil
	}
	_, err := e.deriveWith(ctx, conn, rows)
	return err
}

// derivedRows are the parameters of deriveRowsSQL.
type derivedRows struct {
	derivedArgs
	incarnation int64
	// Of each object.
	keys        []string
	revisions   []int64
	hasReport   []bool
	results     []int32
	derivations []engine.Derivation
}

// newDerivedRows returns room for the rows of n objects.
func newDerivedRows(e *Engine, n int) *derivedRows {
	rows := &derivedRows{
		incarnation: e.incarnation.Load(), keys: make([]string, n), revisions: make([]int64, n), hasReport: make([]bool, n),
		results: make([]int32, n), derivations: make([]engine.Derivation, n),
	}
	rows.start(e, n)
	return rows
}

func (r *derivedRows) queue(batch *pgx.Batch) error {
	args := deriveRowsSQL.arguments()
	r.set(args)
	args.set("incarnation", r.incarnation)
	args.set("keys", r.keys)
	args.set("revisions", r.revisions)
	args.set("reports", r.hasReport)
	args.set("results", r.results)
	args.set("derivations", r.derivations)
	return args.queue(batch)
}

// deriveWith runs deriveRowsSQL, and returns the number of removals that the facts are there as of.
func (e *Engine) deriveWith(ctx context.Context, conn session, rows *derivedRows) (tidied int64, err error) {
	var pipeline pgx.Batch
	pipeline.Queue(lockCounterSQL, e.cluster)
	if err := rows.queue(&pipeline); err != nil {
		return 0, err
	}
	results := conn.SendBatch(ctx, &pipeline)
	var valid bool
	var incarnation int64
	var dropped released
	if _, err = results.Exec(); err == nil {
		err = results.QueryRow().Scan(&valid, &incarnation, &tidied, &dropped.verdicts, &dropped.subjects)
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	if err == nil && !valid {
		e.sameIncarnation(engine.Incarnation(incarnation))
		e.facts.clear()
		err = errStale
	}
	if err == nil {
		e.released.add(dropped)
	}
	return tidied, err
}
