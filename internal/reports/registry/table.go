// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/docket-project/docket/internal/reports/document"
	"github.com/docket-project/docket/internal/reports/kinds"
	schemas "github.com/docket-project/docket/internal/reports/schema"
)

// table prints objects of a kind with the library's convertor, which it gives no more of an object than the columns
// read. It is safe for concurrent use.
type table struct {
	library rest.TableConvertor
	keep    schemas.Paths
	columns []column
}

// column is a printed column whose cells can mostly be made without the library.
type column struct {
	kind string
	// path of members; nil if the column's expression says more.
	path []string
}

var _ rest.TableConvertor = &table{}

// newTable returns what prints objects of a kind. As in kube-apiserver, a definition without columns has the age.
func newTable(kind Kind) (*table, error) {
	columns := kind.version().AdditionalPrinterColumns
	if len(columns) == 0 {
		columns = []apiextensionsv1.CustomResourceColumnDefinition{ageColumn()}
	}
	library, err := tableconvertor.New(columns)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(columns))
	for i := range columns {
		paths[i] = columns[i].JSONPath
	}
	t := &table{library: library, keep: schemas.CompilePaths(paths)}
	for i := range columns {
		t.columns = append(t.columns, column{columns[i].Type, schemas.Members(columns[i].JSONPath)})
	}
	return t, nil
}

func ageColumn() apiextensionsv1.CustomResourceColumnDefinition {
	return apiextensionsv1.CustomResourceColumnDefinition{
		Name: "Age", Type: "date", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"], JSONPath: ".metadata.creationTimestamp",
	}
}

// ConvertToTable implements rest.TableConvertor.
func (t *table) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	converted, err := t.empty(ctx, options)
	if err != nil {
		return nil, err
	}
	if list, err := meta.ListAccessor(obj); err == nil {
		converted.ListMeta = shownMeta(metav1.ListMeta{
			ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue(), RemainingItemCount: list.GetRemainingItemCount(),
		})
	} else if single, err := meta.CommonAccessor(obj); err == nil {
		converted.ResourceVersion = single.GetResourceVersion()
	}
	converted.Rows, err = metatable.MetaToTableRow(obj, func(row runtime.Object, _ metav1.Object, _, _ string) ([]any, error) {
		o, ok := row.(object)
		if !ok {
			return nil, fmt.Errorf("print a %T", row)
		}
		served, err := o.MarshalJSON()
		if err != nil {
			return nil, err
		}
		read, err := o.Of.ReadBriefly(served, t.keep)
		if err != nil {
			return nil, err
		}
		return t.cells(ctx, read)
	})
	return converted, err
}

// empty returns a table without rows, with headings unless the options say otherwise.
func (t *table) empty(ctx context.Context, options runtime.Object) (*metav1.Table, error) {
	return t.library.ConvertToTable(ctx, &unstructured.UnstructuredList{}, options)
}

// cells returns the row of an object of which only what the columns read need be there.
func (t *table) cells(ctx context.Context, read document.Brief) ([]any, error) {
	cells := make([]any, 1, 1+len(t.columns))
	var ok bool
	if cells[0], ok = plainCell(kinds.TypeString, read.Value("metadata", "name")); !ok {
		return t.librarysCells(ctx, read)
	}
	for _, c := range t.columns {
		if c.path == nil {
			return t.librarysCells(ctx, read)
		}
		cell, ok := plainCell(c.kind, read.Value(c.path...))
		if !ok {
			return t.librarysCells(ctx, read)
		}
		cells = append(cells, cell)
	}
	return cells, nil
}

func (t *table) librarysCells(ctx context.Context, read document.Brief) ([]any, error) {
	tree, err := read.Tree()
	if err != nil {
		return nil, err
	}
	converted, err := t.library.ConvertToTable(ctx, &unstructured.Unstructured{Object: tree}, &metav1.TableOptions{NoHeaders: true})
	if err != nil {
		return nil, err
	}
	return converted.Rows[0].Cells, nil
}

// plainCell returns the cell of a value, false if that is the library's business.
func plainCell(kind string, value []byte) (any, bool) {
	if value == nil {
		return nil, true
	}
	decoded, err := schemas.ParseValue(value)
	if err != nil {
		return nil, false
	}
	switch v := decoded.(type) {
	case string:
		switch kind {
		case kinds.TypeString:
			return v, true
		case kinds.TypeDate:
			at, err := time.Parse(time.RFC3339, v)
			return metatable.ConvertToHumanReadableDateType(metav1.NewTime(at)), err == nil
		}
	case int64:
		return v, kind == kinds.TypeInteger
	}
	return nil, false
}
