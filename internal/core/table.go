// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

const (
	columnString  = "string"
	columnInteger = "integer"
	// unknown is printed for what isn't there, as kubectl does.
	unknown = "<unknown>"
	none    = "<none>"
)

// column is a printed column of a kind.
type column struct {
	name, kind, format, description string
	// wide is true for columns that only a wide output has.
	wide bool
	cell func(runtime.Object) any
}

// text returns a column of one kind with a text.
func text[P runtime.Object](name, description string, cell func(P) string) column {
	return column{name: name, kind: columnString, description: description, cell: func(object runtime.Object) any {
		if typed, ok := object.(P); ok {
			return cell(typed)
		}
		return nil
	}}
}

// number returns a column of one kind with a number.
func number[P runtime.Object](name, description string, cell func(P) int64) column {
	return column{name: name, kind: columnInteger, description: description, cell: func(object runtime.Object) any {
		if typed, ok := object.(P); ok {
			return cell(typed)
		}
		return nil
	}}
}

// inWide returns the column for wide output only.
func (c column) inWide() column {
	c.wide = true
	return c
}

func nameColumn() column {
	return column{
		name: "Name", kind: columnString, format: "name", description: "Name of the object, unique in its namespace.",
		cell: func(object runtime.Object) any {
			accessor, err := meta.Accessor(object)
			if err != nil {
				return unknown
			}
			return accessor.GetName()
		},
	}
}

func ageColumn() column {
	return column{
		name: "Age", kind: columnString, description: "Time since the object was created.",
		cell: func(object runtime.Object) any {
			accessor, err := meta.Accessor(object)
			if err != nil {
				return unknown
			}
			return since(accessor.GetCreationTimestamp())
		},
	}
}

// since returns the time since a moment as kubectl prints it.
func since(moment metav1.Time) string {
	if moment.IsZero() {
		return unknown
	}
	return metatable.ConvertToHumanReadableDateType(moment)
}

// tableConvertor prints objects of one row. It is safe for concurrent use.
type tableConvertor struct {
	headers []metav1.TableColumnDefinition
	columns []column
}

var _ rest.TableConvertor = &tableConvertor{}

func newTableConvertor(row resource) *tableConvertor {
	columns := row.columns
	if !row.onlyColumns {
		columns = slices.Concat([]column{nameColumn()}, row.columns, []column{ageColumn()})
	}
	c := &tableConvertor{columns: columns}
	for _, column := range columns {
		header := metav1.TableColumnDefinition{
			Name: column.name, Type: column.kind, Format: column.format, Description: column.description,
		}
		if column.wide {
			header.Priority = 1
		}
		c.headers = append(c.headers, header)
	}
	return c
}

// ConvertToTable returns an object, or a list of objects, as a table. The headings are
// shared between calls: callers must not change them.
func (c *tableConvertor) ConvertToTable(_ context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || options == nil || !options.NoHeaders {
		table.ColumnDefinitions = c.headers
	}
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
	} else if single, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = single.GetResourceVersion()
	}
	rows, err := metatable.MetaToTableRow(object, c.cells)
	if err != nil {
		return nil, fmt.Errorf("print %T: %w", object, err)
	}
	table.Rows = rows
	return table, nil
}

func (c *tableConvertor) cells(object runtime.Object, _ metav1.Object, _, _ string) ([]any, error) {
	cells := make([]any, 0, len(c.columns))
	for _, column := range c.columns {
		cells = append(cells, column.cell(object))
	}
	return cells, nil
}
