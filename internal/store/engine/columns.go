// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

// Column is a column that all engines have for a field of T. A field that is only stored and shown needs nothing in an
// engine but the column in its migrations: statements take the others from these lists.
type Column[T any] struct {
	// Name of the column in SQL.
	Name string
	// Field returns a pointer to the field: a *string, *JSON, *int64 or *bool.
	Field func(*T) any
}

// JSON is text that is a JSON document, "" for none.
type JSON string

// VerdictColumns are the columns of the table of verdicts, beside what identifies one.
//
//nolint:gochecknoglobals // A constant but for the language.
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
//
//nolint:gochecknoglobals // A constant but for the language.
var SubjectColumns = []Column[Subject]{
	{"api_version", func(s *Subject) any { return &s.APIVersion }},
	{"kind", func(s *Subject) any { return &s.Kind }},
	{"namespace", func(s *Subject) any { return &s.Namespace }},
	{"name", func(s *Subject) any { return &s.Name }},
	{"uid", func(s *Subject) any { return &s.UID }},
}

// ReportColumns are the columns of the table of reports, beside the object and its resource, the scope, and the results.
//
//nolint:gochecknoglobals // A constant but for the language.
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
