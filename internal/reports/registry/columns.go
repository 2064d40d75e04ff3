// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	metatable "k8s.io/apimachinery/pkg/api/meta/table"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/internal/reports/kinds"
)

// Labels and annotations that Kyverno puts on ephemeral reports.
const (
	kyvernoSourceLabel       = "audit.kyverno.io/source"
	kyvernoGroupLabel        = "audit.kyverno.io/resource.group"
	kyvernoKindLabel         = "audit.kyverno.io/resource.kind"
	kyvernoNameAnnotation    = "audit.kyverno.io/resource.name"
	kyvernoUIDLabel          = "audit.kyverno.io/resource.uid"
	kyvernoResourceHashLabel = "audit.kyverno.io/resource.hash"
)

type column = kinds.Column[object]

func nameColumn() column { return kinds.NameColumn[object]("Name of the report.") }

// scopedColumns are those of reports with a scope. The published definitions differ in
// whether a narrow output shows it.
func scopedColumns(scopePriority int32) []column {
	columns := []column{nameColumn(), {
		Name:        "Kind",
		Type:        kinds.TypeString,
		Description: "Kind of the object that the report is about.",
		Priority:    scopePriority,
		Cell:        scopeCell(func(scope *report.ObjectReference) string { return scope.Kind }),
	}, {
		Name:        "Name",
		Type:        kinds.TypeString,
		Description: "Name of the object that the report is about.",
		Priority:    scopePriority,
		Cell:        scopeCell(func(scope *report.ObjectReference) string { return scope.Name }),
	}}
	columns = append(columns, summaryColumns()...)
	return append(columns, ageColumn())
}

func ephemeralColumns(uidPriority int32) []column {
	columns := []column{
		nameColumn(),
		labelColumn("Source", kyvernoSourceLabel, "Engine that produced the report.", kinds.Always),
		labelColumn("Group", kyvernoGroupLabel, "API group of the object that the report is about.", kinds.Always),
		labelColumn("Kind", kyvernoKindLabel, "Kind of the object that the report is about.", kinds.Always),
		{
			Name:        "Owner",
			Type:        kinds.TypeString,
			Description: "Name of the object that the report is about.",
			Cell:        func(r object) any { return cellOf(r.GetAnnotations(), kyvernoNameAnnotation) },
		},
	}
	columns = append(columns, summaryColumns()...)
	return append(columns,
		ageColumn(),
		labelColumn("Uid", kyvernoUIDLabel, "Unique id of the object that the report is about.", uidPriority),
		labelColumn("Hash", kyvernoResourceHashLabel, "Hash of the object at the time of the check.", kinds.WideOnly),
	)
}

func summaryColumns() []column {
	return []column{
		summaryColumn("Pass", "Number of rules that are met.", func(s *report.Summary) *int64 { return s.Pass }),
		summaryColumn("Fail", "Number of rules that are broken.", func(s *report.Summary) *int64 { return s.Fail }),
		summaryColumn("Warn", "Number of broken rules that are not scored.", func(s *report.Summary) *int64 { return s.Warn }),
		summaryColumn("Error", "Number of rules that could not be checked.", func(s *report.Summary) *int64 { return s.Error }),
		summaryColumn("Skip", "Number of rules that did not apply.", func(s *report.Summary) *int64 { return s.Skip }),
	}
}

func summaryColumn(name, description string, count func(*report.Summary) *int64) column {
	return column{
		Name:        name,
		Type:        kinds.TypeInteger,
		Description: description,
		Cell: func(r object) any {
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

func labelColumn(name, label, description string, priority int32) column {
	return column{
		Name:        name,
		Type:        kinds.TypeString,
		Description: description,
		Priority:    priority,
		Cell:        func(r object) any { return cellOf(r.GetLabels(), label) },
	}
}

func ageColumn() column {
	return column{
		Name:        "Age",
		Type:        kinds.TypeDate,
		Description: "Time since the report was created.",
		Cell: func(r object) any {
			created := r.GetCreationTimestamp()
			if created.IsZero() {
				return nil
			}
			return metatable.ConvertToHumanReadableDateType(created)
		},
	}
}

// scopeCell returns a cell with one field of the scope, nil if the field is empty.
func scopeCell(read func(*report.ObjectReference) string) func(object) any {
	return func(r object) any {
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
