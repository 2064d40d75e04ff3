// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"errors"
	"slices"
	"strings"

	gojmespath "github.com/kyverno/go-jmespath"
	"github.com/kyverno/kyverno/pkg/config"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"
	"k8s.io/utils/lru"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/operand"
)

const (
	// maxPrograms bounds the compiled expressions that are remembered. Those that hold a name of
	// the subject come once and push out the oldest.
	maxPrograms = 2048
	// maxRemembered is the length of the longest expression that is remembered.
	maxRemembered = 1024
)

// impureFunctions give another result for the same arguments: they read a clock, random numbers or the DNS.
var impureFunctions = []string{"random", "time_now", "time_now_utc", "time_since", "is_external_url"}

// Functions returns the functions that the JMESPath expressions of policies may call, and the names
// of those whose result is not a function of their arguments. No function changes its arguments. Strict ones fail if
// they can't read one.
func Functions(strict bool) (caller *gojmespath.FunctionCaller, impure []string) {
	return functionsFor(config.NewDefaultConfiguration(false), strict), slices.Clone(impureFunctions)
}

func functionsFor(settings config.Configuration, strict bool) *gojmespath.FunctionCaller {
	caller := lenientFunctions(settings)
	if !strict {
		return caller
	}
	lenient := lenientFunctions(settings)
	for name, check := range operand.Functions {
		caller.Register(gojmespath.FunctionEntry{Name: name, Handler: func(arguments []any) (any, error) {
			out, err := lenient.CallFunction(name, arguments, gojmespath.NewInterpreter())
			if err == nil {
				err = check(arguments)
			}
			return out, err
		}})
	}
	return caller
}

// lenientFunctions are those of Kyverno.
func lenientFunctions(settings config.Configuration) *gojmespath.FunctionCaller {
	caller := gojmespath.NewFunctionCaller()
	for _, function := range jmespath.GetFunctions(settings) {
		caller.Register(function.FunctionEntry)
	}
	caller.Register(gojmespath.FunctionEntry{
		Name: "sort_by",
		Arguments: []gojmespath.ArgSpec{
			{Types: []gojmespath.JpType{gojmespath.JpArray}}, {Types: []gojmespath.JpType{gojmespath.JpExpref}},
		},
		Handler: func(arguments []any) (any, error) { return sortBy(caller, arguments) },
	})
	return caller
}

var errSortBy = errors.New("sort_by: the expression is not a string, or not a number, for all elements")

// sortBy is the library's function, which is the only one that sorts its argument in place, over a
// copy: the data may belong to the context cache.
func sortBy(caller *gojmespath.FunctionCaller, arguments []any) (any, error) {
	list, ok := arguments[0].([]any)
	if !ok || len(list) < 2 {
		return arguments[0], nil
	}
	computed, err := caller.CallFunction("map", []any{arguments[1], list}, gojmespath.NewInterpreter())
	if err != nil {
		return nil, err
	}
	keys, _ := computed.([]any)
	switch keys[0].(type) {
	case string:
		return sortedBy(list, keys, strings.Compare)
	case float64:
		// Not cmp.Compare: the library's order ignores NaN.
		return sortedBy(list, keys, func(a, b float64) int {
			switch {
			case a < b:
				return -1
			case b < a:
				return 1
			}
			return 0
		})
	default:
		return nil, errSortBy
	}
}

func sortedBy[T any](list, keys []any, compare func(a, b T) int) (any, error) {
	type pair struct {
		key   T
		value any
	}
	pairs := make([]pair, len(list))
	for i := range list {
		key, ok := keys[i].(T)
		if !ok {
			return nil, errSortBy
		}
		pairs[i] = pair{key, list[i]}
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return compare(a.key, b.key) })
	out := make([]any, len(pairs))
	for i := range pairs {
		out[i] = pairs[i].value
	}
	return out, nil
}

// expressions compiles the JMESPath expressions of all rules and remembers the last ones. Kyverno
// compiles each one each time.
type expressions struct {
	functions *gojmespath.FunctionCaller
	programs  *lru.Cache
	// strict is true if what can't be read is an error.
	strict bool
}

var _ jmespath.Interface = (*expressions)(nil)

func newExpressions(settings config.Configuration, strict bool) *expressions {
	return &expressions{functions: functionsFor(settings, strict), programs: lru.New(maxPrograms), strict: strict}
}

func (e *expressions) Query(text string) (jmespath.Query, error) {
	return e.compile(text)
}

func (e *expressions) Search(text string, data any) (any, error) {
	compiled, err := e.compile(text)
	if err != nil {
		return nil, err
	}
	return compiled.Search(data)
}

func (e *expressions) compile(text string) (*program, error) {
	if known, ok := e.programs.Get(text); ok {
		return known.(*program), nil
	}
	ast, err := gojmespath.NewParser().Parse(text)
	if err != nil {
		return nil, err
	}
	compiled := newProgram(ast, e)
	if len(text) <= maxRemembered {
		e.programs.Add(text, compiled)
	}
	return compiled, nil
}
