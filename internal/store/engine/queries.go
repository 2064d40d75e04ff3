// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ReportKind is a kind of reports, and the resource that it is stored as. The keys of its objects are "namespace/name",
// or "name" without a namespace, as projections have them.
type ReportKind struct {
	Kind     string
	Resource Resource
}

// RowQuery selects result rows.
type RowQuery struct {
	// Kinds of reports, in the order of their names; at least one.
	Kinds []ReportKind
	// Namespace of the reports; nil for all.
	Namespace *string
	// Filter on rows; nil for all.
	Filter *Filter
	// After: only reports behind this one, and from it on when Inclusive. Zero for all.
	After     ReportPlace
	Inclusive bool
	// Limit is the number of rows from which on no further report is read: an answer has all rows of a report or none, so
	// it may have more. Positive.
	Limit int
}

// Check returns an error if no engine could answer the query.
func (q *RowQuery) Check() error {
	if q.Limit <= 0 {
		return errors.New("the limit of rows is not positive")
	}
	if !utf8.ValidString(q.After.Namespace + "/" + q.After.Name) {
		return errors.New("the place to continue after is not UTF-8")
	}
	return checkScope(q.Kinds, q.Filter)
}

func checkScope(kinds []ReportKind, filter *Filter) error {
	if len(kinds) == 0 || !slices.IsSortedFunc(kinds, func(a, b ReportKind) int { return strings.Compare(a.Kind, b.Kind) }) {
		return errors.New("the kinds of reports are missing, or not in order")
	}
	if filter.Has(FieldCluster) {
		return fmt.Errorf("an engine can't select by %s: Filter.Of decides it", FieldCluster)
	}
	return filter.Check()
}

// ReportPlace says where a report is in the order of Rows.
type ReportPlace struct{ Namespace, Kind, Name string }

// Compare returns how a report stands to another one in the order of Rows.
func (p ReportPlace) Compare(other ReportPlace) int {
	return cmp.Or(strings.Compare(p.Namespace, other.Namespace), strings.Compare(p.Kind, other.Kind), strings.Compare(p.Name, other.Name))
}

// Behind reports whether the query wants reports of a place, as far as After says it.
func (q *RowQuery) Behind(place ReportPlace) bool {
	order := place.Compare(q.After)
	return order > 0 || order == 0 && (q.Inclusive || q.After == ReportPlace{})
}

// ReportRow is what result rows have in common that are of one report.
type ReportRow struct {
	ReportPlace

	UID string
	// CreatedAt is the creation time in Unix seconds.
	CreatedAt int64
}

// ResultRow is a row of the view policy_results. Report, Verdict and Subject are shared by rows.
type ResultRow struct {
	Report *ReportRow
	// Result has the row's own subject, or else the scope of the report: nil only where there is neither.
	Result
}

// RowPage is the answer to a RowQuery.
type RowPage struct {
	Rows []ResultRow
	// More says that reports behind the last one may have further rows. Without rows there are none.
	More bool
	// State of the snapshot.
	State State
}

// CountQuery asks for numbers of rows.
type CountQuery struct {
	// Cluster is the name of the one that is meant; "" for the engine's own. Counts.State is that of this cluster.
	Cluster string
	// Kinds, Namespace and Filter are as in RowQuery.
	Kinds     []ReportKind
	Namespace *string
	Filter    *Filter
	// By are the fields whose values are counted separately; none for one count of everything, which may be of no results.
	// Field.Groups says which can be among them.
	By []Field
	// Subjects asks for the number of different subjects, Namespaces for that of different namespaces of reports,
	// Policies and Sources for those of different names of them, and Times for the least and the greatest time of
	// results that have one.
	Subjects, Namespaces, Policies, Sources, Times bool
	// Having are bounds that counts have to meet. Others are left out before Limit.
	Having []Bound
	// OrderBy is a field of By, or one of the Order constants; "" for the order of By. Descending turns OrderBy around
	// where it is not "". Equal ones are in the order of By.
	OrderBy    Field
	Descending bool
	// Limit is the largest number of counts. Positive. An engine may end with CrowdedError where MaxGroups and Limit
	// are both less than there is to count.
	Limit int
}

// What Counts can be ordered by, beside fields.
const (
	OrderResults    Field = "results"
	OrderSubjects   Field = "subjects"
	OrderNamespaces Field = "namespaces"
	OrderPolicies   Field = "policies"
	OrderSources    Field = "sources"
	OrderOldest     Field = "oldest"
	OrderNewest     Field = "newest"
	OrderClusters   Field = "clusters"
)

// Check returns an error if no engine could answer the query.
func (q *CountQuery) Check() error {
	for i, field := range q.By {
		if !field.Groups() || slices.Contains(q.By[:i], field) {
			return fmt.Errorf("results can't be counted by %q, or not twice", field)
		}
	}
	if _, ok := new(Count).number(q.OrderBy); !ok && q.OrderBy != "" && !slices.Contains(q.By, q.OrderBy) {
		return fmt.Errorf("counts can't be ordered by %q, which they don't have", q.OrderBy)
	}
	if q.Limit <= 0 {
		return errors.New("the limit of counts is not positive")
	}
	if err := q.checkBounds(); err != nil {
		return err
	}
	return checkScope(q.Kinds, q.Filter)
}

// Compare returns how two counts stand to each other in the order that the query asks for.
func (q *CountQuery) Compare(a, b *Count) int {
	order := 0
	if n, ok := a.number(q.OrderBy); ok {
		other, _ := b.number(q.OrderBy)
		order = cmp.Compare(n, other)
	} else if i := slices.Index(q.By, q.OrderBy); i >= 0 {
		order = strings.Compare(a.Values[i], b.Values[i])
	}
	if q.Descending {
		order = -order
	}
	return cmp.Or(order, slices.Compare(a.Values, b.Values))
}

// Answer puts counts in order, and leaves out those that don't meet the bounds and those beyond the limit.
func (q *CountQuery) Answer(counts []Count) Counts {
	counts = slices.DeleteFunc(counts, func(c Count) bool { return !q.Meets(&c) })
	slices.SortFunc(counts, func(a, b Count) int { return q.Compare(&a, &b) })
	n := min(len(counts), q.Limit)
	return Counts{Counts: counts[:n], More: n < len(counts)}
}

// Counted reports whether counters know all that the query asks for.
func (q *CountQuery) Counted() bool {
	for _, field := range q.By {
		if !field.Counted() {
			return false
		}
	}
	return q.Filter.Counted() && !q.Subjects && !q.Times
}

// Count is a number of rows that agree in the fields of CountQuery.By.
type Count struct {
	// Values of these fields, in the order of By.
	Values  []string
	Results int64
	// The numbers and times, which are in Unix seconds, are 0 where the query doesn't ask for them.
	Subjects, Namespaces, Policies, Sources, Oldest, Newest int64
	// Clusters is for those who add up counts of several: engines leave it 0.
	Clusters int64
}

// Counts is the answer to a CountQuery.
type Counts struct {
	Counts []Count
	// More says that there are further counts beyond the limit.
	More bool
	// State of the snapshot.
	State State
}
