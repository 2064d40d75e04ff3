// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	metatable "k8s.io/apimachinery/pkg/api/meta/table"

	"github.com/docket-project/docket/api/report"
)

// Priorities of columns.
const (
	always   int32 = 0
	wideOnly int32 = 1
)

// Labels and annotations that Kyverno puts on ephemeral reports.
const (
	kyvernoSourceLabel       = "audit.kyverno.io/source"
	kyvernoGroupLabel        = "audit.kyverno.io/resource.group"
	kyvernoKindLabel         = "audit.kyverno.io/resource.kind"
	kyvernoNameAnnotation    = "audit.kyverno.io/resource.name"
	kyvernoUIDLabel          = "audit.kyverno.io/resource.uid"
	kyvernoResourceHashLabel = "audit.kyverno.io/resource.hash"
	columnTypeString         = "string"
	columnTypeInteger        = "integer"
	columnTypeDate           = "date"
)

// Column is a printed column of a kind.
type Column struct {
	// Name is the heading, Type its OpenAPI type.
	Name, Type string
	// Description explains the column to clients.
	Description string
	// Priority is 0 for columns that are always shown; others need a wide output.
	Priority int32
	// Cell returns the value for one report; nil if the report has none.
	Cell func(report.Accessor) any
}

// scopedColumns are those of reports with a scope. How the scope is shown differs between
// the published definitions.
func scopedColumns(scopePriority int32) []Column {
	columns := []Column{{
		Name:        "Kind",
		Type:        columnTypeString,
		Description: "Kind of the object that the report is about.",
		Priority:    scopePriority,
		Cell:        scopeCell(func(scope *report.ObjectReference) string { return scope.Kind }),
	}, {
		Name:        "Name",
		Type:        columnTypeString,
		Description: "Name of the object that the report is about.",
		Priority:    scopePriority,
		Cell:        scopeCell(func(scope *report.ObjectReference) string { return scope.Name }),
	}}
	columns = append(columns, summaryColumns()...)
	return append(columns, ageColumn())
}

func ephemeralColumns(uidPriority int32) []Column {
	columns := []Column{
		labelColumn("Source", kyvernoSourceLabel, "Engine that produced the report.", always),
		labelColumn("Group", kyvernoGroupLabel, "API group of the object that the report is about.", always),
		labelColumn("Kind", kyvernoKindLabel, "Kind of the object that the report is about.", always),
		{
			Name:        "Owner",
			Type:        columnTypeString,
			Description: "Name of the object that the report is about.",
			Cell:        func(r report.Accessor) any { return cellOf(r.GetAnnotations(), kyvernoNameAnnotation) },
		},
	}
	columns = append(columns, summaryColumns()...)
	return append(columns,
		ageColumn(),
		labelColumn("Uid", kyvernoUIDLabel, "Unique id of the object that the report is about.", uidPriority),
		labelColumn("Hash", kyvernoResourceHashLabel, "Hash of the object at the time of the check.", wideOnly),
	)
}

func summaryColumns() []Column {
	return []Column{
		summaryColumn("Pass", "Number of rules that are met.", func(s *report.Summary) *int64 { return s.Pass }),
		summaryColumn("Fail", "Number of rules that are broken.", func(s *report.Summary) *int64 { return s.Fail }),
		summaryColumn("Warn", "Number of broken rules that are not scored.", func(s *report.Summary) *int64 { return s.Warn }),
		summaryColumn("Error", "Number of rules that could not be checked.", func(s *report.Summary) *int64 { return s.Error }),
		summaryColumn("Skip", "Number of rules that did not apply.", func(s *report.Summary) *int64 { return s.Skip }),
	}
}

func summaryColumn(name, description string, count func(*report.Summary) *int64) Column {
	return Column{
		Name:        name,
		Type:        columnTypeInteger,
		Description: description,
		Cell: func(r report.Accessor) any {
			summary := r.GetSummary()
			if summary == nil {
				return nil
			}
			number := count(summary)
			if number == nil {
				return nil
			}
			return *number
		},
	}
}

func labelColumn(name, label, description string, priority int32) Column {
	return Column{
		Name:        name,
		Type:        columnTypeString,
		Description: description,
		Priority:    priority,
		Cell:        func(r report.Accessor) any { return cellOf(r.GetLabels(), label) },
	}
}

func ageColumn() Column {
	return Column{
		Name:        "Age",
		Type:        columnTypeDate,
		Description: "Time since the report was created.",
		Cell: func(r report.Accessor) any {
			created := r.GetCreationTimestamp()
			if created.IsZero() {
				return nil
			}
			return metatable.ConvertToHumanReadableDateType(created)
		},
	}
}

// scopeCell returns a cell with one field of the scope, empty fields being absent.
func scopeCell(read func(*report.ObjectReference) string) func(report.Accessor) any {
	return func(r report.Accessor) any {
		scope := r.GetScope()
		if scope == nil {
			return nil
		}
		if value := read(scope); value != "" {
			return value
		}
		return nil
	}
}

// cellOf returns the value of key, or nil if there is none.
func cellOf(values map[string]string, key string) any {
	if value, ok := values[key]; ok {
		return value
	}
	return nil
}
