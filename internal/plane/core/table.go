// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"slices"

	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/internal/reports/kinds"
)

const (
	// unknown is printed for missing values, as kubectl does.
	unknown = "<unknown>"
	none    = "<none>"
)

type (
	column          = kinds.Column[object]
	selectableField = kinds.SelectableField[object]
)

// text returns a column with text, for objects of one kind.
func text[P runtime.Object](name, description string, cell func(P) string) column {
	return column{Name: name, Type: kinds.TypeString, Description: description, Cell: cellOf(cell)}
}

// number returns a column with numbers, for objects of one kind.
func number[P runtime.Object](name, description string, cell func(P) int64) column {
	return column{Name: name, Type: kinds.TypeInteger, Description: description, Cell: cellOf(cell)}
}

// cellOf turns a function for objects of one kind into one for any.
func cellOf[P runtime.Object, V any](cell func(P) V) func(object) any {
	return func(object object) any {
		if typed, ok := object.(P); ok {
			return cell(typed)
		}
		return nil
	}
}

func nameColumn() column {
	return kinds.NameColumn[object]("Name of the object, unique in its namespace.")
}

func ageColumn() column {
	return text("Age", "Time since the object was created.", func(object object) string {
		return since(object.GetCreationTimestamp())
	})
}

// between returns the columns of most kinds: name, those given, age.
func between(columns ...column) []column {
	return slices.Concat([]column{nameColumn()}, columns, []column{ageColumn()})
}

// since returns the time since a moment as kubectl prints it.
func since(moment metav1.Time) string {
	if moment.IsZero() {
		return unknown
	}
	return metatable.ConvertToHumanReadableDateType(moment)
}

// selecting returns a selectable field, for objects of one kind.
func selecting[P runtime.Object](name string, value func(P) string) selectableField {
	return selectableField{Name: name, Value: func(object object) string {
		if typed, ok := object.(P); ok {
			return value(typed)
		}
		return ""
	}}
}
