// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// Projection is a report as rows: what the SQL views show of it. A field here, in Verdict or in Subject has a column in
// the lists below.
type Projection struct {
	Namespace, Name, UID string
	// Kind of the report, such as "PolicyReport".
	Kind string
	// Source that the report names itself; results have their own.
	Source string
	// CreatedAt is the creation time in Unix seconds.
	CreatedAt int64
	// Scope is the subject of all results that name none; nil for none.
	Scope *Subject
	// Summary as the report states it.
	Pass, Fail, Warn, Error, Skip int64
	Results                       []Result
}

// Result is an entry of a report's results about one subject. An entry about
// several subjects gives several results of one Index.
type Result struct {
	// Index of the entry in the report.
	Index   int32
	Verdict *Verdict
	// Subject, nil for the report's scope.
	Subject *Subject
	// Seconds is the timestamp in Unix seconds; 0 for none.
	Seconds int64
	// Ordinal is how many results before it in the report have the same Identity: 0 for the first.
	Ordinal int32
}

// Identity tells the results of a report apart, except for those that differ in their order alone.
type Identity struct {
	// Subject is zero for none.
	Subject              Subject
	Source, Policy, Rule string
}

// Identity returns what identifies the result among those of its report. Its subject must be set if the report has a
// scope.
func (r *Result) Identity() Identity {
	id := Identity{Source: r.Verdict.Source, Policy: r.Verdict.Policy, Rule: r.Verdict.Rule}
	if r.Subject != nil {
		id.Subject = *r.Subject
	}
	return id
}

// SetOrdinals gives all results their ordinals.
func (p *Projection) SetOrdinals() {
	if len(p.Results) == 1 {
		p.Results[0].Ordinal = 0
		return
	}
	before := make(map[Identity]int32, len(p.Results))
	for i := range p.Results {
		about := p.Results[i]
		if about.Subject == nil {
			about.Subject = p.Scope
		}
		id := about.Identity()
		p.Results[i].Ordinal = before[id]
		before[id]++
	}
}

// Verdict is the part of a result that many results share. It is stored once. A field that is added must be part of ID
// where it is set, and only there: the identities that are stored stay what they are.
type Verdict struct {
	Source, Policy, Rule, Category, Severity, Result, Message string
	Scored                                                    bool
	// Properties as a JSON object with sorted keys; "" for none.
	Properties JSON
}

// Subject is the resource that a result is about. It is stored once.
type Subject struct {
	APIVersion, Kind, Namespace, Name, UID string
}

// JSON is text that is a JSON document, "" for none.
type JSON string

// Column is a column that all engines have for a field of T. A field that is only stored and shown needs nothing in an
// engine but the column in its migrations: statements take the others from these lists.
type Column[T any] struct {
	// Name of the column in SQL.
	Name string
	// Field returns a pointer to the field: a *string, *JSON, *int64 or *bool.
	Field func(*T) any
}

// ColumnList returns columns as SQL lists them, each after a prefix.
func ColumnList[T any](columns []Column[T], prefix string) string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = prefix + column.Name
	}
	return strings.Join(names, ", ")
}

// ColumnFields returns pointers to the fields of a row, one for each column.
func ColumnFields[T any](columns []Column[T], row *T) []any {
	fields := make([]any, len(columns))
	for i := range columns {
		fields[i] = columns[i].Field(row)
	}
	return fields
}

// VerdictColumns are the columns of the table of verdicts, beside what identifies one.
var VerdictColumns = []Column[Verdict]{
	{"source", func(v *Verdict) any { return &v.Source }},
	{"policy", func(v *Verdict) any { return &v.Policy }},
	{"rule", func(v *Verdict) any { return &v.Rule }},
	{"category", func(v *Verdict) any { return &v.Category }},
	{"severity", func(v *Verdict) any { return &v.Severity }},
	{"result", func(v *Verdict) any { return &v.Result }},
	{"message", func(v *Verdict) any { return &v.Message }},
	{"scored", func(v *Verdict) any { return &v.Scored }},
	{"properties", func(v *Verdict) any { return &v.Properties }},
}

// SubjectColumns are the columns of the table of subjects, beside what identifies one.
var SubjectColumns = []Column[Subject]{
	{"api_version", func(s *Subject) any { return &s.APIVersion }},
	{"kind", func(s *Subject) any { return &s.Kind }},
	{"namespace", func(s *Subject) any { return &s.Namespace }},
	{"name", func(s *Subject) any { return &s.Name }},
	{"uid", func(s *Subject) any { return &s.UID }},
}

// ReportColumns are the columns of the table of reports, beside the object and its resource, the scope, and the
// results.
var ReportColumns = []Column[Projection]{
	{"namespace", func(p *Projection) any { return &p.Namespace }},
	{"name", func(p *Projection) any { return &p.Name }},
	{"uid", func(p *Projection) any { return &p.UID }},
	{"kind", func(p *Projection) any { return &p.Kind }},
	{"source", func(p *Projection) any { return &p.Source }},
	{"created_at", func(p *Projection) any { return &p.CreatedAt }},
	{"pass", func(p *Projection) any { return &p.Pass }},
	{"fail", func(p *Projection) any { return &p.Fail }},
	{"warn", func(p *Projection) any { return &p.Warn }},
	{"error", func(p *Projection) any { return &p.Error }},
	{"skip", func(p *Projection) any { return &p.Skip }},
}

// ID identifies a verdict within a database: 64 bits of a SHA-256 over its
// fields, so that writers need not ask the database for it.
func (v *Verdict) ID() int64 {
	return identity(v.Source, v.Policy, v.Rule, v.Category, v.Severity, v.Result, v.Message, digit(v.Scored), string(v.Properties))
}

// Outcome identifies the fields of a verdict by which results are counted: those without words.
func (v *Verdict) Outcome() int64 {
	return identity(v.Source, v.Policy, v.Rule, v.Category, v.Severity, v.Result, digit(v.Scored))
}

func digit(b bool) string {
	if b {
		return "1"
	}
	return "0"
}

// ID identifies a subject within a database, like Verdict.ID.
func (s *Subject) ID() int64 {
	return identity(s.APIVersion, s.Kind, s.Namespace, s.Name, s.UID)
}

// identity hashes parts with their lengths, so that no two lists of parts
// make the same input. Most inputs fit into the buffer on the stack.
func identity(parts ...string) int64 {
	var stack [1024]byte
	input := stack[:0]
	for _, part := range parts {
		input = binary.BigEndian.AppendUint64(input, uint64(len(part)))
		input = append(input, part...)
	}
	sum := sha256.Sum256(input)
	return int64(binary.BigEndian.Uint64(sum[:]))
}

// Equal reports whether two projections give the same rows, so that the rows of an
// update need not be written. Two nils are equal.
func (p *Projection) Equal(other *Projection) bool {
	if p == nil || other == nil {
		return p == other
	}
	return equalHead(p, other) && same(p.Scope, other.Scope) && slices.EqualFunc(p.Results, other.Results, equalResult)
}

// equalHead compares everything except scope and results.
func equalHead(a, b *Projection) bool {
	return a.Namespace == b.Namespace && a.Name == b.Name && a.UID == b.UID && a.Kind == b.Kind &&
		a.Source == b.Source && a.CreatedAt == b.CreatedAt &&
		a.Pass == b.Pass && a.Fail == b.Fail && a.Warn == b.Warn && a.Error == b.Error && a.Skip == b.Skip
}

func equalResult(a, b Result) bool {
	return a.Index == b.Index && a.Seconds == b.Seconds && a.Ordinal == b.Ordinal && same(a.Verdict, b.Verdict) && same(a.Subject, b.Subject)
}

// same compares what pointers point to.
func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a == b || *a == *b
}
