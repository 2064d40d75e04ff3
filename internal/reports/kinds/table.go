// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/rest"
)

// Types of columns.
const (
	TypeString  = "string"
	TypeInteger = "integer"
	TypeDate    = "date"
)

// Priorities of columns.
const (
	Always   int32 = 0
	WideOnly int32 = 1
)

// Column is a printed column of a kind.
type Column[O any] struct {
	// Name is the heading, Type its OpenAPI type, Format an OpenAPI format or empty.
	Name, Type, Format string
	// Description explains the column to clients.
	Description string
	// Priority is [Always], or [WideOnly] for columns that need a wide output.
	Priority int32
	// Cell returns the value for one object; nil if the object has none. Rows of lists are made without what is large
	// in an object, such as the results of a report: a cell that reads those would differ between get and list.
	Cell func(O) any
}

// NameColumn returns the column with the names of objects.
func NameColumn[O metav1.Object](description string) Column[O] {
	return Column[O]{
		Name: "Name", Type: TypeString, Format: "name", Description: description,
		Cell: func(object O) any { return object.GetName() },
	}
}

// TableConvertor prints objects of one kind. It is safe for concurrent use.
type TableConvertor[O any] struct {
	kind    schema.GroupVersionKind
	headers []metav1.TableColumnDefinition
	columns []Column[O]
}

var _ rest.TableConvertor = &TableConvertor[any]{}

// NewTableConvertor returns what prints objects of a kind.
func NewTableConvertor[O any](kind Kind[O]) *TableConvertor[O] {
	c := &TableConvertor[O]{kind: kind.GroupVersionKind, columns: kind.Columns}
	for _, column := range kind.Columns {
		c.headers = append(c.headers, metav1.TableColumnDefinition{
			Name:        column.Name,
			Type:        column.Type,
			Format:      column.Format,
			Description: column.Description,
			Priority:    column.Priority,
		})
	}
	return c
}

// ConvertToTable returns an object, or a list of objects, as a table. The headings are
// shared between calls: callers must not change them.
func (c *TableConvertor[O]) ConvertToTable(_ context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	table := c.Empty(tableOptions)
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
	} else if single, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = single.GetResourceVersion()
	}
	rows, err := metatable.MetaToTableRow(object, c.row)
	if err != nil {
		return nil, fmt.Errorf("print %T: %w", object, err)
	}
	table.Rows = rows
	return table, nil
}

// Empty returns a table without rows, with headings unless the options say otherwise.
func (c *TableConvertor[O]) Empty(tableOptions runtime.Object) *metav1.Table {
	table := &metav1.Table{Rows: []metav1.TableRow{}}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || options == nil || !options.NoHeaders {
		table.ColumnDefinitions = c.headers
	}
	return table
}

// Cells returns the row of an object.
func (c *TableConvertor[O]) Cells(object O) []any {
	cells := make([]any, len(c.columns))
	for i, column := range c.columns {
		cells[i] = column.Cell(object)
	}
	return cells
}

func (c *TableConvertor[O]) row(object runtime.Object, _ metav1.Object, _, _ string) ([]any, error) {
	typed, err := read[O](object, c.kind)
	if err != nil {
		return nil, err
	}
	return c.Cells(typed), nil
}
