// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"reflect"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// Each field is in one column, but for those that are stored elsewhere.
func TestColumnsHaveAllFields(t *testing.T) {
	t.Parallel()
	checkColumns(t, engine.VerdictColumns)
	checkColumns(t, engine.SubjectColumns)
	checkColumns(t, engine.ReportColumns, "Scope", "Results")
}

func checkColumns[T any](t *testing.T, columns []engine.Column[T], elsewhere ...string) {
	t.Helper()
	row := reflect.New(reflect.TypeFor[T]()).Elem()
	fields := map[any]string{}
	for i := range row.NumField() {
		fields[row.Field(i).Addr().Interface()] = row.Type().Field(i).Name
	}
	for _, name := range elsewhere {
		delete(fields, row.FieldByName(name).Addr().Interface())
	}
	pointer, _ := row.Addr().Interface().(*T)
	for _, column := range columns {
		field := column.Field(pointer)
		switch field.(type) {
		case *string, *engine.JSON, *int64, *bool:
		default:
			t.Errorf("column %s of %T is a %T", column.Name, *pointer, field)
		}
		if _, ok := fields[field]; !ok {
			t.Errorf("column %s of %T has no field of its own", column.Name, *pointer)
		}
		delete(fields, field)
	}
	for _, name := range fields {
		t.Errorf("field %s of %T has no column", name, *pointer)
	}
}
