// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// columnList returns columns as SQL lists them, each after a prefix.
func columnList[T any](columns []engine.Column[T], prefix string) string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = prefix + column.Name
	}
	return strings.Join(names, ", ")
}

// placeholders returns that of each column.
func placeholders[T any](columns []engine.Column[T]) string {
	return strings.Repeat("?, ", len(columns)-1) + "?"
}

// appendValues adds what columns have of a row to the arguments of a statement.
func appendValues[T any](args []any, columns []engine.Column[T], row *T) []any {
	for i := range columns {
		switch field := columns[i].Field(row).(type) {
		case *string:
			args = append(args, *field)
		case *engine.JSON:
			args = append(args, string(*field))
		case *int64:
			args = append(args, *field)
		case *bool:
			args = append(args, number(*field))
		}
	}
	return args
}

// maxColumns is room for the arguments of any statement with columns.
const maxColumns = 24
