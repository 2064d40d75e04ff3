// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"cmp"
	"errors"
	"slices"

	"github.com/kyverno/go-jmespath"
)

// Protect replaces the functions of caller that change their arguments by ones that give the same
// result and don't: data and results belong to all. The library has one of them, sort_by. The
// caller must not be in use yet.
func Protect(caller *jmespath.FunctionCaller) {
	caller.Register(jmespath.FunctionEntry{
		Name: "sort_by",
		Arguments: []jmespath.ArgSpec{
			{Types: []jmespath.JpType{jmespath.JpArray}},
			{Types: []jmespath.JpType{jmespath.JpExpref}},
		},
		Handler:   sortBy,
		HasExpRef: true,
	})
}

var (
	errSortArray   = errors.New("sort_by: not an array")
	errSortFirst   = errors.New("invalid type, must be number of string") // Says the library.
	errSortCompare = errors.New("error in sort_by comparison")
)

// sortBy is given an interpreter, its caller, an array, and an expression that only the library can
// read: map evaluates it.
func sortBy(arguments []any) (any, error) {
	caller, ok := arguments[1].(*jmespath.FunctionCaller)
	array, isArray := arguments[2].([]any)
	if !ok || !isArray {
		return nil, errSortArray
	}
	if len(array) < 2 {
		return array, nil
	}
	evaluate := func(array []any) ([]any, error) {
		mapped, err := caller.CallFunction("map", []any{arguments[3], array}, jmespath.NewInterpreter())
		keys, _ := mapped.([]any)
		return keys, err
	}
	first, err := evaluate(array[:1])
	if err != nil {
		return nil, err
	}
	keys, err := evaluate(array)
	if err != nil {
		err = errSortCompare
	}
	switch first[0].(type) {
	case string:
		return sorted[string](array, keys, err)
	case float64:
		return sorted[float64](array, keys, err)
	default:
		return nil, errSortFirst
	}
}

func sorted[K cmp.Ordered](array, keys []any, err error) (any, error) {
	type member struct {
		key   K
		value any
	}
	members := make([]member, len(keys))
	for i, key := range keys {
		typed, ok := key.(K)
		if !ok {
			return nil, errSortCompare
		}
		members[i] = member{typed, array[i]}
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	result := make([]any, len(members))
	for i, m := range members {
		result[i] = m.value
	}
	return result, nil
}
