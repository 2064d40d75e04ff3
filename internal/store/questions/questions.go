// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package questions finds the reports that a question about results has to read, and reads no others: what engines have
// in common that keep results in tables. No plan depends on statistics.
//
// Reports are read in the order of the answer, which their keys have, and only in the namespaces where counters know of
// results that the filter may select. Where few results meet what the filter demands of one part of them, the reports
// of these are looked up instead: else the rarest results would take the longest.
package questions

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

const (
	// most is how many results are looked up one by one at most.
	most = 4000
	// firstWindows are read in the first statement, four times as many in the second, and so on.
	firstWindows = 512
	// mostNames bounds the reports that are looked up by name.
	mostNames = 20_000
)

// Place is a namespace and a kind of reports.
type Place struct{ Namespace, Kind string }

func (p Place) compare(other Place) int {
	return cmp.Or(strings.Compare(p.Namespace, other.Namespace), strings.Compare(p.Kind, other.Kind))
}

// Window is a range of reports of a place, by the keys of their objects: from From on, and below To.
type Window struct {
	Place

	Resource engine.Resource
	From, To string
}

// endOfKeys is above all keys, which are names of Kubernetes.
const endOfKeys = "\U0010FFFF"

// least is the least text that can follow a key, since none has control characters.
const least = "\x01"

// Condition is what rows have to meet.
type Condition struct {
	*engine.Filter
	// Subject is the ID of their subject; nil for any.
	Subject *int64
	// Entries is how many results meet what the filter demands of verdicts, where that was counted and is many. An
	// engine may find these first, to read no report without them.
	Entries int64
	// Confined says that only the verdicts of the results that are read are looked at: nobody learns from the time that
	// an answer takes what there is in other namespaces.
	Confined bool
}

// Row is a result row, and where the engine finds it.
type Row struct {
	engine.ResultRow

	At Numbers
}

// Source is an engine's tables in one snapshot.
type Source interface {
	// Places returns the places from one on where rows may be that a filter selects whose fields are all counted, in
	// their order. It may stop when those behind the first have enough rows; 0 is never.
	Places(ctx context.Context, counted *engine.Filter, from Place, enough int) ([]Place, error)

	// Counted returns the number of results that a query is about, whose fields are all counted. It is not known where
	// counters are not kept.
	Counted(ctx context.Context, q engine.CountQuery) (results int64, known bool, err error)

	// Selective returns the reports that have rows which meet a condition on one part of results, in any order and more
	// than once or not. It gives up, and returns false, when that is more than limit. It may be asked about a namespace
	// for subjects only.
	Selective(ctx context.Context, part engine.Part, condition Condition, namespace *string, limit int) (reports []engine.ReportPlace, selective bool, err error)

	// Read returns the first rows in some windows that meet a condition, in the order of windows and keys. Those of a
	// report are in any order. A limit of 0 is none.
	Read(ctx context.Context, windows []Window, condition Condition, limit int) ([]Row, error)
}

// Rows answers a RowQuery, which was checked, without the State.
func Rows(ctx context.Context, source Source, q engine.RowQuery) (engine.RowPage, error) {
	var err error
	if q.Filter, err = Weigh(ctx, source, q.Kinds, q.Namespace, q.Filter); err != nil {
		return engine.RowPage{}, err
	}
	q.Namespace = namespaceOf(q.Namespace, q.Filter)
	windows, entries, err := windowsOf(ctx, source, q)
	if err != nil {
		return engine.RowPage{}, err
	}
	condition := Condition{Filter: q.Filter, Entries: entries, Confined: q.Namespace != nil}
	var page engine.RowPage
	var rows []Row
	for size := firstWindows; len(windows) > 0 && len(rows) < q.Limit; size *= 4 {
		n := min(size, len(windows))
		more, err := source.Read(ctx, windows[:n], condition, q.Limit-len(rows))
		if err != nil {
			return engine.RowPage{}, err
		}
		rows, windows = append(rows, more...), windows[n:]
	}
	if len(rows) >= q.Limit {
		page.More = true // Perhaps. The last report may have further rows.
		if rows, err = complete(ctx, source, q, rows); err != nil {
			return engine.RowPage{}, err
		}
	}
	page.Rows = inOrder(rows)
	return page, nil
}

// complete reads the last report as a whole.
func complete(ctx context.Context, source Source, q engine.RowQuery, rows []Row) ([]Row, error) {
	last := rows[len(rows)-1].Report.ReportPlace
	for len(rows) > 0 && rows[len(rows)-1].Report.ReportPlace == last {
		rows = rows[:len(rows)-1]
	}
	whole, err := source.Read(ctx, namedWindows(q.Kinds, []engine.ReportPlace{last}), Condition{Filter: q.Filter}, 0)
	return append(rows, whole...), err
}

// RowsAbout answers Questions.RowsAbout, without the State.
func RowsAbout(ctx context.Context, source Source, namespace string, kinds []engine.ReportKind, id int64) (engine.RowPage, error) {
	condition := Condition{Subject: &id}
	reports, selective, err := source.Selective(ctx, engine.PartSubject, condition, &namespace, most)
	if err != nil {
		return engine.RowPage{}, err
	}
	windows := namedWindows(kinds, inOrderOfPlaces(reports))
	if !selective {
		windows = wholeWindows(kinds, places(kinds, namespace))
	}
	rows, err := source.Read(ctx, windows, condition, 0)
	return engine.RowPage{Rows: inOrder(rows)}, err
}

// inOrder puts the rows of each report in order.
func inOrder(rows []Row) []engine.ResultRow {
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(a.Report.Compare(b.Report.ReportPlace), cmp.Compare(a.Index, b.Index), cmp.Compare(a.At.Subject, b.At.Subject), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return ResultRows(rows)
}

// ResultRows returns rows without where the engine finds them.
func ResultRows(rows []Row) []engine.ResultRow {
	results := make([]engine.ResultRow, len(rows))
	for i := range rows {
		results[i] = rows[i].ResultRow
	}
	return results
}

// windowsOf returns what has to be read for a query, and the entries of the condition on it.
func windowsOf(ctx context.Context, source Source, q engine.RowQuery) (windows []Window, entries int64, err error) {
	reports, selective, entries, err := selectiveReports(ctx, source, q)
	if err != nil || selective {
		reports = slices.DeleteFunc(inOrderOfPlaces(reports), func(p engine.ReportPlace) bool { return !q.Behind(p) })
		return namedWindows(q.Kinds, reports), 0, err
	}
	found, err := placesOf(ctx, source, q)
	if err != nil {
		return nil, 0, err
	}
	if names, must := q.Filter.Demands(engine.FieldReport); must && len(names)*len(found) < mostNames {
		return namedWindows(q.Kinds, slices.DeleteFunc(reportsOf(found, names), func(p engine.ReportPlace) bool { return !q.Behind(p) })), 0, nil
	}
	windows = wholeWindows(q.Kinds, found)
	for i := range windows {
		if w := &windows[i]; w.Namespace == q.After.Namespace && w.Kind == q.After.Kind {
			w.From = max(w.From, firstKey(q))
		}
	}
	return windows, entries, nil
}

// namespaceOf returns the one namespace whose reports a query is about; nil for several.
func namespaceOf(namespace *string, filter *engine.Filter) *string {
	if values, must := filter.Demands(engine.FieldNamespace); must && len(values) == 1 && namespace == nil {
		return &values[0]
	}
	return namespace
}

// firstKey returns the first key that a query wants of the place that it goes on in.
func firstKey(q engine.RowQuery) string {
	name, inclusive := q.After.Name, q.Inclusive
	if before, _, found := strings.Cut(name, "\x00"); found { // The same keys are above "a\x00b" and "a".
		name, inclusive = before, false
	}
	if !inclusive {
		name += least
	}
	return keyOf(q.After.Namespace, name)
}

// placesOf returns the places that a query has to read.
func placesOf(ctx context.Context, source Source, q engine.RowQuery) ([]Place, error) {
	from := Place{q.After.Namespace, q.After.Kind}
	var found []Place
	if q.Namespace != nil {
		found = places(q.Kinds, *q.Namespace)
	} else {
		counted, others := q.Filter.Select((*engine.Filter).Counted)
		counted = engine.Both(counted, InScope(q.Kinds, nil))
		enough := 0
		if others == nil {
			enough = q.Limit
		}
		var err error
		if found, err = source.Places(ctx, counted, from, enough); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(found, func(p Place) bool { return p.compare(from) < 0 }), nil
}

// InScope returns the filter for reports of some kinds, and of a namespace; nil for all.
func InScope(kinds []engine.ReportKind, namespace *string) *engine.Filter {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.Kind
	}
	filter := engine.OneOf(engine.FieldReportKind, names...)
	if namespace != nil {
		filter = engine.Both(filter, engine.Equal(engine.FieldNamespace, *namespace))
	}
	return filter
}

// places returns those of a namespace.
func places(kinds []engine.ReportKind, namespace string) []Place {
	found := make([]Place, len(kinds))
	for i, kind := range kinds {
		found[i] = Place{namespace, kind.Kind}
	}
	return found
}

// reportsOf returns the reports of some names in some places.
func reportsOf(places []Place, names []string) []engine.ReportPlace {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	reports := make([]engine.ReportPlace, 0, len(places)*len(names))
	for _, place := range places {
		for _, name := range names {
			reports = append(reports, engine.ReportPlace{Namespace: place.Namespace, Kind: place.Kind, Name: name})
		}
	}
	return reports
}

// Windows returns what has to be read to count rows: selective is false where that is everything.
func Windows(ctx context.Context, source Source, q engine.CountQuery) (windows []Window, selective bool, err error) {
	rows := engine.RowQuery{Kinds: q.Kinds, Namespace: namespaceOf(q.Namespace, q.Filter), Filter: q.Filter}
	_, named := q.Filter.Demands(engine.FieldReport)
	if rows.Namespace == nil && !named {
		reports, selective, _, err := selectiveReports(ctx, source, rows)
		return namedWindows(q.Kinds, inOrderOfPlaces(reports)), selective, err
	}
	windows, _, err = windowsOf(ctx, source, rows)
	return windows, true, err
}

// selectiveReports looks for a part of results of which the filter demands what few have. Where those are verdicts that
// many have, it returns how many.
func selectiveReports(ctx context.Context, source Source, q engine.RowQuery) (reports []engine.ReportPlace, selective bool, entries int64, err error) {
	if _, must := q.Filter.Demands(engine.FieldReport); must {
		return nil, false, 0, nil // That is fewer.
	}
	if q.Namespace != nil {
		reports, selective, err = selectiveInNamespace(ctx, source, q)
		return reports, selective, 0, err
	}
	for _, part := range []engine.Part{engine.PartSubject, engine.PartVerdict, engine.PartReport, engine.PartSeconds} {
		condition, _ := q.Filter.Select(func(f *engine.Filter) bool { return f.Parts() == part && !onlyPlaces(f) })
		if part == engine.PartVerdict {
			condition, _, _ = Verdicts(q.Filter)
		}
		if condition == nil || part == engine.PartSubject && MatchesNoSubject(condition) {
			continue
		}
		if part == engine.PartVerdict && condition.Counted() {
			if entries, err = manyCounted(ctx, source, q, condition); err != nil {
				return nil, false, 0, err
			}
			if entries > 0 {
				continue
			}
		}
		reports, selective, err = source.Selective(ctx, part, Condition{Filter: condition}, q.Namespace, most)
		if err != nil || selective {
			return reports, selective, 0, err
		}
	}
	return nil, false, entries, nil
}

// manyCounted returns how many results have verdicts of a kind, if counters know that it costs less to read reports in
// their order than to look for those with such verdicts, and else 0: all entries of the index of verdicts may have to
// be read to know that there are many.
func manyCounted(ctx context.Context, source Source, q engine.RowQuery, condition *engine.Filter) (entries int64, err error) {
	entries, _, err = source.Counted(ctx, engine.CountQuery{Kinds: q.Kinds, Filter: condition, Limit: 1})
	if entries <= most {
		return 0, err
	}
	return entries, err
}

// selectiveInNamespace is selectiveReports in a namespace. It is read as a whole, because all indexes are of all
// namespaces: how long they take tells what the others have. Only in one with many results are those looked up that are
// about something of a name.
func selectiveInNamespace(ctx context.Context, source Source, q engine.RowQuery) (reports []engine.ReportPlace, selective bool, err error) {
	condition, _ := q.Filter.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartSubject })
	_, named := condition.Demands(engine.FieldSubjectName)
	_, known := condition.Demands(engine.FieldSubjectUID)
	if !named && !known || MatchesNoSubject(condition) {
		return nil, false, nil
	}
	results, _, err := source.Counted(ctx, engine.CountQuery{Kinds: q.Kinds, Namespace: q.Namespace, Limit: 1})
	if err != nil || results <= most {
		return nil, false, err
	}
	return source.Selective(ctx, engine.PartSubject, Condition{Filter: condition}, q.Namespace, most)
}

// Named selects the verdicts as they are stored whose messages have placeholders for the names of the subject.
func Named() *engine.Filter {
	named := &engine.Filter{Operator: engine.Any}
	for _, placeholder := range engine.Placeholders {
		named.Operands = append(named.Operands,
			&engine.Filter{Operator: engine.Contains, Field: engine.FieldMessage, Values: []string{string(placeholder)}})
	}
	return named
}

// Verdicts returns what a filter demands of verdicts as they are stored, where FieldMessage is the template of the
// message, what it demands of messages, and what else rows have to meet. A message that is not Named is its template,
// and meets what is demanded of it if its verdict does.
func Verdicts(f *engine.Filter) (verdicts, messages, others *engine.Filter) {
	verdicts, others = f.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartVerdict })
	messages, others = others.Select(func(f *engine.Filter) bool {
		ofVerdicts := true
		f.Uses(func(field engine.Field) { ofVerdicts = ofVerdicts && field.Part()&engine.PartVerdict != 0 })
		return ofVerdicts && f.Parts() != 0
	})
	if messages != nil {
		verdicts = engine.Both(verdicts, &engine.Filter{Operator: engine.Any, Operands: append([]*engine.Filter{messages}, Named().Operands...)})
	}
	return verdicts, messages, others
}

// onlyPlaces reports whether a condition is on places, which are read in their order anyway.
func onlyPlaces(f *engine.Filter) bool {
	only := true
	f.Uses(func(field engine.Field) {
		only = only && (field == engine.FieldNamespace || field == engine.FieldReportKind)
	})
	return only
}

// MatchesNoSubject reports whether a condition on subjects selects rows that have none.
func MatchesNoSubject(f *engine.Filter) bool {
	return f.Match(func(engine.Field) string { return "" }, 0)
}

// inOrderOfPlaces puts reports in order, each once.
func inOrderOfPlaces(reports []engine.ReportPlace) []engine.ReportPlace {
	slices.SortFunc(reports, engine.ReportPlace.Compare)
	return slices.Compact(reports)
}

// wholeWindows returns the windows with all reports of some places.
func wholeWindows(kinds []engine.ReportKind, places []Place) []Window {
	windows := make([]Window, 0, len(places))
	for _, place := range places {
		w := Window{Place: place, To: endOfKeys}
		if place.Namespace != "" {
			w.From, w.To = place.Namespace+"/", place.Namespace+"0" // What follows the slash.
		}
		windows = w.appendTo(windows, kinds)
	}
	return windows
}

// namedWindows returns the windows with some reports, one in each.
func namedWindows(kinds []engine.ReportKind, reports []engine.ReportPlace) []Window {
	windows := make([]Window, 0, len(reports))
	for _, report := range reports {
		key := keyOf(report.Namespace, report.Name)
		windows = Window{Place: Place{report.Namespace, report.Kind}, From: key, To: key + least}.appendTo(windows, kinds)
	}
	return windows
}

// appendTo appends the window, unless the query doesn't ask for its kind.
func (w Window) appendTo(windows []Window, kinds []engine.ReportKind) []Window {
	i := slices.IndexFunc(kinds, func(kind engine.ReportKind) bool { return kind.Kind == w.Kind })
	if i < 0 {
		return windows
	}
	w.Resource = kinds[i].Resource
	return append(windows, w)
}

// IsOne reports whether the window has one report at most.
func (w *Window) IsOne() bool { return w.To == w.From+least }

func keyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

const (
	// light is how many comparisons a filter may always have.
	light = 10
	// budget is how many comparisons may be made with all results together: seconds, and less than questions may take.
	budget = 20_000_000
)

// Weigh returns a filter with what counters know before the rest, so that the rest is compared with few results, or
// engine.CostlyError if there is too much to compare. Where counters are not kept, nobody knows.
func Weigh(ctx context.Context, source Source, kinds []engine.ReportKind, namespace *string, filter *engine.Filter) (*engine.Filter, error) {
	counted, others := filter.Select((*engine.Filter).Counted)
	ordered := engine.Both(counted, others)
	all, most := filter.Comparisons()
	if all <= light {
		return ordered, nil
	}
	scope := engine.CountQuery{Kinds: kinds, Namespace: namespace, Limit: 1}
	results, _, err := source.Counted(ctx, scope)
	if err != nil {
		return nil, err
	}
	scope.Filter = counted
	left, _, err := source.Counted(ctx, scope)
	if err != nil {
		return nil, err
	}
	first, _ := counted.Comparisons()
	second, _ := others.Comparisons()
	if cost := results*first + left*second; cost > budget {
		return nil, &engine.CostlyError{Cost: cost, Allowed: budget, Most: most}
	}
	return ordered, nil
}
