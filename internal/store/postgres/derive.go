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

// deriveCTEs replaces what follows from objects: index terms, reports, results,
// and the sums of a resource. The parts before it must provide
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
// Rows that go are looked up one by one, which OFFSET 0 and LIMIT keep so, and deleted by their place: in a join
// with the table a plan that was made while it was empty may read all rows of the cluster for each object. Indexes of
// terms and results by other columns have the cluster, too: cluster + 0 keeps the plan from these.
//
// A term that no other object has gets an empty key, which takes 90 bytes less: so those of a value are as many as
// objects are written by one statement, at most. LIMIT 1 keeps that a look-up in the index term_value.
//
// released are the verdicts and subjects that rows were about which are no more, and that no row
// of the same statement is about.
const deriveCTEs = `dropped_terms AS (
	DELETE FROM docket.term t USING stale s CROSS JOIN LATERAL (
		SELECT ctid AS place FROM docket.term WHERE cluster + 0 = $1 AND created = s.object OFFSET 0
	) d WHERE t.ctid = d.place
), old_reports AS MATERIALIZED (
	SELECT s.resource, p.*, s.object, s.reports AS replaced FROM stale s CROSS JOIN LATERAL (
		SELECT ctid AS place, scope, namespace, kind, verdicts FROM docket.report WHERE cluster = $1 AND object = s.object LIMIT 1
	) p
), dropped_reports AS (
	DELETE FROM docket.report p USING old_reports o WHERE p.ctid = o.place AND NOT o.replaced
), dropped_results AS (
	DELETE FROM docket.result r USING stale s CROSS JOIN LATERAL (
		SELECT ctid AS place FROM docket.result WHERE cluster + 0 = $1 AND object = s.object OFFSET 0
	) d WHERE r.ctid = d.place
	RETURNING s.resource, s.object, r.verdict, r.subject
), released AS MATERIALIZED (
	SELECT (
		SELECT array_agg(v) FROM (
			(SELECT unnest(verdicts) FROM old_reports UNION ALL SELECT verdict FROM dropped_results)
			EXCEPT (SELECT 0 UNION ALL SELECT unnest($22::int8[]) UNION ALL SELECT unnest($26::int8[]))
		) AS released (v)
	) AS verdicts, (
		SELECT array_agg(s) FROM (
			(SELECT scope FROM old_reports UNION ALL SELECT subject FROM dropped_results)
			EXCEPT (SELECT NULL UNION ALL SELECT unnest($13::int8[]) UNION ALL SELECT unnest($27::int8[]))
		) AS released (s)
	) AS subjects
), added_terms AS (
	INSERT INTO docket.term (cluster, resource, name, value, created, key)
	SELECT $1, ($2::int2[])[t.op], t.name, t.value, (SELECT objects FROM fresh)[t.op], CASE WHEN (
		SELECT true FROM docket.term WHERE cluster = $1 AND resource = ($2::int2[])[t.op] AND name = t.name AND value = t.value
			AND created <> (SELECT objects FROM fresh)[t.op] LIMIT 1
	) THEN (SELECT keys FROM fresh)[t.op] ELSE '' END
	FROM unnest($3::int4[], $4::int8[], $5::int8[]) AS t(op, name, value)
	WHERE (SELECT objects FROM fresh)[t.op] > 0
), added_reports AS (
	INSERT INTO docket.report (cluster, resource, object, namespace, name, uid, kind, source, created_at, scope,
		pass, fail, warn, error, skip, verdicts, result_seconds, seconds)
	SELECT $1, ($2::int2[])[p.op], (SELECT objects FROM fresh)[p.op], p.namespace, p.name, p.uid, p.kind, p.source,
		p.created_at, p.scope, p.pass, p.fail, p.warn, p.error, p.skip,
		CASE WHEN p.entries > 0 THEN ($22::int8[])[p.first_verdict : p.first_verdict + p.entries - 1] END, p.result_seconds,
		CASE WHEN p.first_second > 0 THEN ($24::int8[])[p.first_second : p.first_second + p.entries - 1] END
	FROM unnest($6::int4[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::int8[], $13::int8[],
		$14::int8[], $15::int8[], $16::int8[], $17::int8[], $18::int8[], $19::int4[], $20::int4[], $21::int8[], $23::int4[])
		AS p(op, namespace, name, uid, kind, source, created_at, scope, pass, fail, warn, error, skip,
			entries, first_verdict, result_seconds, first_second)
	WHERE (SELECT objects FROM fresh)[p.op] > 0
	ON CONFLICT (cluster, object) DO UPDATE SET namespace = excluded.namespace, name = excluded.name, uid = excluded.uid,
		kind = excluded.kind, source = excluded.source, created_at = excluded.created_at, scope = excluded.scope,
		pass = excluded.pass, fail = excluded.fail, warn = excluded.warn, error = excluded.error, skip = excluded.skip,
		verdicts = excluded.verdicts, result_seconds = excluded.result_seconds, seconds = excluded.seconds
	RETURNING object, namespace, kind, verdicts
), added_results AS (
	INSERT INTO docket.result (cluster, object, verdict, subject, seconds, idx)
	SELECT $1, (SELECT objects FROM fresh)[r.op], r.verdict, r.subject, r.seconds, r.idx
	FROM unnest($25::int4[], $26::int8[], $27::int8[], $28::int8[], $29::int4[]) AS r(op, verdict, subject, seconds, idx)
	WHERE (SELECT objects FROM fresh)[r.op] > 0
	RETURNING object, verdict
), added_verdicts AS (
	INSERT INTO docket.verdict (cluster, id, source, policy, rule, category, severity, result, message, scored, properties)
	SELECT $1, v.* FROM unnest($30::int8[], $31::text[], $32::text[], $33::text[], $34::text[], $35::text[], $36::text[],
		$37::text[], $38::bool[], $39::text[]) AS v
	WHERE (SELECT valid FROM counter)
	ON CONFLICT DO NOTHING
), added_subjects AS (
	INSERT INTO docket.subject (cluster, id, api_version, kind, namespace, name, uid)
	SELECT $1, s.* FROM unnest($40::int8[], $41::text[], $42::text[], $43::text[], $44::text[], $45::text[]) AS s
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
	FROM sums s LEFT JOIN LATERAL (SELECT ctid AS place ` + newestTotal + `s.resource` + newestFirst + `) t ON true
), changed_totals AS (
	UPDATE docket.total t
	SET objects = t.objects + o.objects, bytes = t.bytes + o.bytes, results = t.results + o.results,
		complete = least(t.complete, o.complete), highest = greatest(t.highest, o.highest),
		mark = CASE WHEN o.complete < t.building THEN o.mark ELSE t.mark END, generation = o.generation
	FROM old_totals o WHERE t.ctid = o.place
), added_totals AS (
	INSERT INTO docket.total (cluster, resource, objects, bytes, results, complete, building, highest, mark, generation)
	SELECT $1, resource, objects, bytes, results, complete, complete, highest, mark, generation FROM old_totals WHERE place IS NULL
), ` + tallyCTE

// derivedArgs are $1 to $45: rows as arrays, a column each.
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

	reportOps                            []int32
	namespaces, names, uids, kinds, from []string
	createdAt                            []int64
	scopes                               []pgtype.Int8
	pass, fail, warn, errors, skip       []int64
	entries                              entryArgs

	resultOps         []int32
	verdicts, seconds []int64
	subjects          []pgtype.Int8
	indexes           []int32

	verdictIDs                                                                 []int64
	sources, policies, rules, categories, severities, results, messages, props []string
	scored                                                                     []bool

	subjectIDs                                                                  []int64
	subjectVersions, subjectKinds, subjectNamespaces, subjectNames, subjectUIDs []string
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
	d.namespaces = append(d.namespaces, text(p.Namespace))
	d.names = append(d.names, text(p.Name))
	d.uids = append(d.uids, text(p.UID))
	d.kinds = append(d.kinds, text(p.Kind))
	d.from = append(d.from, text(p.Source))
	d.createdAt = append(d.createdAt, p.CreatedAt)
	d.scopes = append(d.scopes, d.subject(p.Scope))
	d.pass = append(d.pass, p.Pass)
	d.fail = append(d.fail, p.Fail)
	d.warn = append(d.warn, p.Warn)
	d.errors = append(d.errors, p.Error)
	d.skip = append(d.skip, p.Skip)
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
		d.indexes = append(d.indexes, result.Index)
	}
	if err := d.entries.finish(); err != nil {
		return 0, err
	}
	return int32Count(len(p.Results))
}

// isNew says whether a fact has to be written, and remembers it.
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

// verdictID is another one in each cluster: the index report_verdicts knows none, and would find what
// other clusters have.
func verdictID(cluster int32, v *engine.Verdict) int64 {
	return int64(uint64(v.ID()) ^ uint64(cluster)*0x9e3779b97f4a7c15) // 2^64 by the golden ratio, as in Fibonacci hashing.
}

func (d *derivedArgs) verdict(v *engine.Verdict) int64 {
	id := verdictID(d.cluster, v)
	if d.isNew(id) {
		d.verdictIDs = append(d.verdictIDs, id)
		d.sources = append(d.sources, text(v.Source))
		d.policies = append(d.policies, text(v.Policy))
		d.rules = append(d.rules, text(v.Rule))
		d.categories = append(d.categories, text(v.Category))
		d.severities = append(d.severities, text(v.Severity))
		d.results = append(d.results, text(v.Result))
		d.messages = append(d.messages, text(v.Message))
		d.scored = append(d.scored, v.Scored)
		d.props = append(d.props, jsonText(v.Properties))
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
		d.subjectVersions = append(d.subjectVersions, text(s.APIVersion))
		d.subjectKinds = append(d.subjectKinds, text(s.Kind))
		d.subjectNamespaces = append(d.subjectNamespaces, text(s.Namespace))
		d.subjectNames = append(d.subjectNames, text(s.Name))
		d.subjectUIDs = append(d.subjectUIDs, text(s.UID))
	}
	return pgtype.Int8{Int64: id, Valid: true}
}

// values returns $1 to $45.
func (d *derivedArgs) values() []any {
	values := make([]any, 0, 60)
	return append(values, d.cluster, d.resources, d.termOps, d.termNames, d.termValues,
		d.reportOps, d.namespaces, d.names, d.uids, d.kinds, d.from, d.createdAt, d.scopes,
		d.pass, d.fail, d.warn, d.errors, d.skip,
		d.entries.counts, d.entries.firstVerdicts, d.entries.defaults, d.entries.verdicts,
		d.entries.firstSeconds, d.entries.seconds,
		d.resultOps, d.verdicts, d.subjects, d.seconds, d.indexes,
		d.verdictIDs, d.sources, d.policies, d.rules, d.categories, d.severities, d.results, d.messages, d.scored, d.props,
		d.subjectIDs, d.subjectVersions, d.subjectKinds, d.subjectNamespaces, d.subjectNames, d.subjectUIDs)
}

// isText says whether PostgreSQL can store a string as it is.
func isText(s string) bool {
	return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0
}

// text returns what can be stored of a string in a result row. The object keeps
// the string as it is.
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

// deriveRowsSQL replaces the rows of objects that are still at a revision. $1 to
// $45 are those of deriveCTEs, $46 keys, $47 revisions, $48 whether there is a
// report, $49 counts of results, $50 what the cache of facts knows, $51 the
// incarnation, $52 the versions that derived them.
const deriveRowsSQL = `
WITH counter AS MATERIALIZED (
	SELECT incarnation = $51::int8 AND $50::int8 IN (-1, tidied) AS valid, incarnation, tidied, revision, tallied FROM ` + newestCounter + ` r
), decided AS MATERIALIZED (
	SELECT i.*, o.created, o.place, (SELECT valid FROM counter) AND o.revision IS NOT NULL AS applies
	FROM unnest($2::int2[], $46::text[], $47::int8[], $48::bool[], $49::int4[], $52::int2[]) WITH ORDINALITY
		AS i(resource, key, revision, reports, results, derivation, ordinal)
	LEFT JOIN LATERAL (
		SELECT *, ctid AS place FROM docket.object WHERE cluster = $1 AND resource = i.resource AND key = i.key LIMIT 1
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
SELECT valid, incarnation, tidied, verdicts, subjects FROM counter CROSS JOIN released`

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
	var args derivedArgs
	incarnation := e.incarnation.Load()
	args.start(e, len(items))
	n := len(items)
	keys, revisions, reports, counts := make([]string, n), make([]int64, n), make([]bool, n), make([]int32, n)
	derivations := make([]engine.Derivation, n)
	for i := range items {
		item := &items[i]
		resource, err := e.resources.find(ctx, conn, item.Resource)
		if err != nil {
			return err
		}
		if counts[i], err = args.add(i, item.Index, item.Projection); err != nil {
			return fmt.Errorf("%s%s: %w", item.Resource, item.Key, err)
		}
		args.resources[i], derivations[i] = resource, item.Derivation
		keys[i], revisions[i], reports[i] = text(item.Key), int64(item.Revision), item.Projection != nil
	}
	_, err := e.deriveWith(ctx, conn, append(args.values(), keys, revisions, reports, counts, args.tidied, incarnation, derivations))
	return err
}

// deriveWith runs deriveRowsSQL, and returns the number of removals that the facts are there as of.
func (e *Engine) deriveWith(ctx context.Context, conn session, args []any) (tidied int64, err error) {
	var pipeline pgx.Batch
	pipeline.Queue(lockCounterSQL, e.cluster)
	pipeline.Queue(deriveRowsSQL, args...)
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
