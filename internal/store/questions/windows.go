// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package questions

import (
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

// endOfKeys is above all keys, which are names of Kubernetes.
const endOfKeys = "\U0010FFFF"

// least is the least text that can follow a key, since none has control characters.
const least = "\x01"

// windowsOf returns what has to be read for a query, and the entries of the condition on it.
func windowsOf(ctx context.Context, tables Tables, q engine.RowQuery) (windows []Window, entries int64, err error) {
	reports, selective, entries, err := selectiveReports(ctx, tables, q)
	if err != nil || selective {
		reports = slices.DeleteFunc(inOrderOfPlaces(reports), func(p engine.ReportPlace) bool { return !q.Behind(p) })
		return namedWindows(q.Kinds, reports), 0, err
	}
	found, err := placesOf(ctx, tables, q)
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
func placesOf(ctx context.Context, tables Tables, q engine.RowQuery) ([]Place, error) {
	from := Place{q.After.Namespace, q.After.Kind}
	var found []Place
	if q.Namespace != nil {
		found = places(q.Kinds, *q.Namespace)
	} else {
		counted, others := q.Filter.Select((*engine.Filter).Counted)
		counted = engine.Both(counted, inScope(q.Kinds, nil))
		enough := 0
		if others == nil {
			enough = q.Limit
		}
		var err error
		if found, err = tables.Places(ctx, counted, from, enough); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(found, func(p Place) bool { return p.compare(from) < 0 }), nil
}

// inScope returns the filter for reports of some kinds, and of a namespace; nil for all.
func inScope(kinds []engine.ReportKind, namespace *string) *engine.Filter {
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

// selectionOf returns what has to be read for the rows that a filter selects.
func selectionOf(ctx context.Context, tables Tables, kinds []engine.ReportKind, namespace *string, filter *engine.Filter) (Selection, error) {
	from := Selection{Filter: engine.Both(filter, inScope(kinds, namespace)), Whole: true}
	if tables.Plans() {
		return from, nil
	}
	q := engine.RowQuery{Kinds: kinds, Namespace: namespaceOf(namespace, filter), Filter: filter}
	var err error
	if _, named := filter.Demands(engine.FieldReport); q.Namespace != nil || named {
		from.Whole = false
		from.Windows, _, err = windowsOf(ctx, tables, q)
		return from, err
	}
	reports, selective, _, err := selectiveReports(ctx, tables, q)
	from.Windows, from.Whole = namedWindows(kinds, inOrderOfPlaces(reports)), !selective
	return from, err
}

// verdictsSuffice reports whether all that is asked for is in verdicts, and about all results that there are, for an
// engine that does not plan by itself.
func verdictsSuffice(ctx context.Context, tables Tables, q *engine.CountQuery) (bool, error) {
	parts := q.Filter.Parts()
	for _, field := range q.By {
		parts |= field.Part()
	}
	if tables.Plans() || !tables.Tallied() || parts&^engine.PartVerdict != 0 || q.Namespace != nil || q.Subjects || q.Times || q.Namespaces {
		return false, nil
	}
	others, err := counted(ctx, tables, engine.Negate(inScope(q.Kinds, nil)))
	return others == 0, err
}

// selectiveReports looks for a part of results of which the filter demands what few have. Where those are verdicts that
// many have, it returns how many.
func selectiveReports(ctx context.Context, tables Tables, q engine.RowQuery) (reports []engine.ReportPlace, selective bool, entries int64, err error) {
	if _, must := q.Filter.Demands(engine.FieldReport); must {
		return nil, false, 0, nil // That is fewer.
	}
	if q.Namespace != nil {
		reports, selective, err = selectiveInNamespace(ctx, tables, q)
		return reports, selective, 0, err
	}
	for _, part := range []engine.Part{engine.PartSubject, engine.PartVerdict, engine.PartReport, engine.PartSeconds} {
		condition, _ := q.Filter.Select(func(f *engine.Filter) bool { return f.Parts() == part && !onlyPlaces(f) })
		if part == engine.PartVerdict {
			condition, _, _ = Verdicts(q.Filter)
		}
		if condition == nil || part == engine.PartSubject && matchesNoSubject(condition) {
			continue
		}
		if part == engine.PartVerdict && condition.Counted() {
			if entries, err = manyCounted(ctx, tables, q, condition); err != nil {
				return nil, false, 0, err
			}
			if entries > 0 {
				continue
			}
		}
		reports, selective, err = tables.Selective(ctx, part, Condition{Filter: condition}, q.Namespace, most)
		if err != nil || selective {
			return reports, selective, 0, err
		}
	}
	return nil, false, entries, nil
}

// manyCounted returns how many results have verdicts of a kind, if counters know that it costs less to read reports in
// their order than to look for those with such verdicts, and else 0: all entries of the index of verdicts may have to
// be read to know that there are many.
func manyCounted(ctx context.Context, tables Tables, q engine.RowQuery, condition *engine.Filter) (entries int64, err error) {
	entries, err = counted(ctx, tables, engine.Both(condition, inScope(q.Kinds, nil)))
	if entries <= most {
		return 0, err
	}
	return entries, err
}

// selectiveInNamespace is selectiveReports in a namespace. It is read as a whole, because all indexes are of all
// namespaces: how long they take tells what the others have. Only in one with many results are those looked up that are
// about something of a name.
func selectiveInNamespace(ctx context.Context, tables Tables, q engine.RowQuery) (reports []engine.ReportPlace, selective bool, err error) {
	condition, _ := q.Filter.Select(func(f *engine.Filter) bool { return f.Parts() == engine.PartSubject })
	_, named := condition.Demands(engine.FieldSubjectName)
	_, known := condition.Demands(engine.FieldSubjectUID)
	if !named && !known || matchesNoSubject(condition) {
		return nil, false, nil
	}
	results, err := counted(ctx, tables, inScope(q.Kinds, q.Namespace))
	if err != nil || results <= most {
		return nil, false, err
	}
	return tables.Selective(ctx, engine.PartSubject, Condition{Filter: condition}, q.Namespace, most)
}

// onlyPlaces reports whether a condition is on places, which are read in their order anyway.
func onlyPlaces(f *engine.Filter) bool {
	only := true
	f.Uses(func(field engine.Field) {
		only = only && (field == engine.FieldNamespace || field == engine.FieldReportKind)
	})
	return only
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

// weigh returns a filter with what counters know before the rest, so that the rest is compared with few results, or
// engine.CostlyError if there is too much to compare. Where counters are not kept, nobody knows.
func weigh(ctx context.Context, tables Tables, kinds []engine.ReportKind, namespace *string, filter *engine.Filter) (*engine.Filter, error) {
	known, others := filter.Select((*engine.Filter).Counted)
	ordered := engine.Both(known, others)
	all, most := filter.Comparisons()
	if all <= light {
		return ordered, nil
	}
	scope := inScope(kinds, namespace)
	results, err := counted(ctx, tables, scope)
	if err != nil {
		return nil, err
	}
	left, err := counted(ctx, tables, engine.Both(known, scope))
	if err != nil {
		return nil, err
	}
	first, _ := known.Comparisons()
	second, _ := others.Comparisons()
	if cost := results*first + left*second; cost > budget {
		return nil, &engine.CostlyError{Cost: cost, Allowed: budget, Most: most}
	}
	return ordered, nil
}

// counted returns the number of results that a filter selects whose fields are all counted, 0 where counters are not
// kept.
func counted(ctx context.Context, tables Tables, filter *engine.Filter) (int64, error) {
	if !tables.Tallied() {
		return 0, nil
	}
	counts, err := tables.CountCounters(ctx, &engine.CountQuery{Limit: 1}, filter)
	if err != nil {
		return 0, err
	}
	return counts.Counts[0].Results, nil
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

// matchesNoSubject reports whether a condition on subjects selects rows that have none.
func matchesNoSubject(f *engine.Filter) bool {
	return f.Match(func(engine.Field) string { return "" }, 0)
}
