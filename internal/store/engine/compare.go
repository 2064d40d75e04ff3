// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"strconv"
)

// compares is Match for comparisons of numbers.
func (f *Filter) compares(text func(Field) string, seconds int64) bool {
	switch f.Field {
	case FieldSeconds:
		return holds(seconds, f.Operator, f.Number)
	case FieldCreated:
		created, err := strconv.ParseInt(text(f.Field), 10, 64)
		return err == nil && holds(created, f.Operator, f.Number)
	default:
		number, ok := Decimal(text(f.Field))
		return ok && holds(number, f.Operator, f.Decimal)
	}
}

func holds[N cmp.Ordered](left N, operator Operator, right N) bool {
	switch operator {
	case LessThan:
		return left < right
	case GreaterThan:
		return left > right
	default:
		return left == right
	}
}
