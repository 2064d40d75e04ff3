// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/docket-project/docket/internal/store/engine"
)

// scan puts the first columns of a row into variables, in the order in which the statement selects them. Text and bytes
// may be null, which leaves a variable empty; numbers may not.
func scan(row []driver.Value, into ...any) {
	for i, variable := range into {
		switch v := variable.(type) {
		case *string:
			*v, _ = row[i].(string)
		case *engine.JSON:
			*v = engine.JSON(text(row[i]))
		case *engine.Resource:
			*v = engine.Resource(text(row[i]))
		case *[]byte:
			*v, _ = row[i].([]byte)
		case *any:
			*v = row[i]
		default:
			scanNumber(variable, row[i].(int64))
		}
	}
}

func scanNumber(variable any, n int64) {
	switch v := variable.(type) {
	case *int64:
		*v = n
	case *int32:
		*v = int32(n)
	case *uint8:
		*v = uint8(n)
	case *bool:
		*v = n == 1
	case *engine.Revision:
		*v = engine.Revision(n)
	case *engine.Incarnation:
		*v = engine.Incarnation(n)
	case *engine.OpKind:
		*v = engine.OpKind(n)
	case *engine.Format:
		*v = engine.Format(n)
	default:
		panic(fmt.Sprintf("scan into %T", variable)) // A mistake in this package.
	}
}

// into is scan for a statement that selects one row.
func into(variables ...any) func(row []driver.Value) {
	return func(row []driver.Value) { scan(row, variables...) }
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
