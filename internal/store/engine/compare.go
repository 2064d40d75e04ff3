// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import "strconv"

// compares is Match for comparisons of numbers.
func (f *Filter) compares(text func(Field) string, seconds int64) bool {
	number := seconds
	if f.Field == FieldCreated {
		var err error
		if number, err = strconv.ParseInt(text(f.Field), 10, 64); err != nil {
			return false
		}
	}
	switch f.Operator {
	case LessThan:
		return number < f.Number
	case GreaterThan:
		return number > f.Number
	default:
		return number == f.Number
	}
}
