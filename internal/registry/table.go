// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/api/report"
)

// tableConvertor prints reports of one kind. It is safe for concurrent use.
type tableConvertor struct {
	headers []metav1.TableColumnDefinition
	columns []Column
}

var _ rest.TableConvertor = &tableConvertor{}

func newTableConvertor(columns []Column) *tableConvertor {
	headers := []metav1.TableColumnDefinition{{
		Name:        "Name",
		Type:        columnTypeString,
		Format:      "name",
		Description: "Name of the report.",
	}}
	for _, column := range columns {
		headers = append(headers, metav1.TableColumnDefinition{
			Name:        column.Name,
			Type:        column.Type,
			Description: column.Description,
			Priority:    column.Priority,
		})
	}
	return &tableConvertor{headers: headers, columns: columns}
}

// ConvertToTable returns obj, a report or a list of reports, as a table. The
// headings are shared between calls: callers must not change them.
func (c *tableConvertor) ConvertToTable(_ context.Context, obj, tableOptions runtime.Object) (*metav1.Table, error) {
	table := c.empty(tableOptions)
	if list, err := meta.ListAccessor(obj); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
	} else if single, err := meta.CommonAccessor(obj); err == nil {
		table.ResourceVersion = single.GetResourceVersion()
	}
	rows, err := metatable.MetaToTableRow(obj, c.cells)
	if err != nil {
		return nil, fmt.Errorf("print %T: %w", obj, err)
	}
	table.Rows = rows
	return table, nil
}

// empty returns a table without rows, with headings unless the options say otherwise.
func (c *tableConvertor) empty(tableOptions runtime.Object) *metav1.Table {
	table := &metav1.Table{Rows: []metav1.TableRow{}}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || options == nil || !options.NoHeaders {
		table.ColumnDefinitions = c.headers
	}
	return table
}

func (c *tableConvertor) cells(obj runtime.Object, _ metav1.Object, name, _ string) ([]any, error) {
	accessor, ok := report.Of(obj)
	if !ok {
		return nil, fmt.Errorf("object is a %T, not a report", obj)
	}
	cells := make([]any, 0, 1+len(c.columns))
	cells = append(cells, name)
	for _, column := range c.columns {
		cells = append(cells, column.Cell(accessor))
	}
	return cells, nil
}
