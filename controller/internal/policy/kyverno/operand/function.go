// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package operand

import (
	"math"

	"github.com/blang/semver/v4"
)

// maxPlaces is more than the digits after the point of any number that JSON has.
const maxPlaces = 308

// Functions has the functions of JMESPath that make something of arguments that they can't read, and returns an
// [Error] for these. The types of the arguments are right.
var Functions = map[string]func(args []any) error{
	"semver_compare": func(args []any) error {
		text, _ := args[0].(string)
		if _, err := semver.Parse(text); err != nil {
			return errorf("semver_compare can't read the version %s: %s", shown(text), err)
		}
		return nil
	},
	"to_number": func(args []any) error {
		if text, ok := args[0].(string); ok && !isDecimal(text) {
			return errorf("to_number can't read %s as a number", shown(text))
		}
		return nil
	},
	"avg": func(args []any) error {
		if list, ok := args[0].([]any); ok && len(list) == 0 {
			return errorf("avg of an empty list is no number")
		}
		return nil
	},
	"round":    func(args []any) error { return whole("round", args[1], maxPlaces) },
	"truncate": func(args []any) error { return whole("truncate", args[1], math.MaxInt32) },
}

func whole(function string, value any, most float64) error {
	if n, ok := number(value); !ok || n != math.Trunc(n) || n < 0 || n > most {
		return errorf("%s can't read %s as a number of digits or letters", function, shown(value))
	}
	return nil
}
