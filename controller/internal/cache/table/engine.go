// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kyverno/go-jmespath"
)

const (
	// maxExpression bounds the text of an expression.
	maxExpression = 64 << 10
	// maxNesting bounds how deep its parts are in each other: taking it apart takes time by the square.
	maxNesting = 1000
	// maxExpressions bounds the memory of compiled expressions, which take something each and a
	// multiple of their text.
	maxExpressions               = 8 << 20
	expressionBytes, bytesOfText = 2 << 10, 32
	// DefaultMaxResult is the [Engine.MaxResult] of a new engine.
	DefaultMaxResult = 16 << 20
)

// Engine compiles expressions, and keeps what it has compiled. It is safe for concurrent use; a
// process needs one.
type Engine struct {
	// MaxResult bounds results, and what an expression makes of one object: the length of their
	// JSON, estimated. Set it before the engine is used.
	MaxResult int64

	caller *jmespath.FunctionCaller
	impure map[string]bool
	// candidates is maxCandidates, but in tests.
	candidates int

	mu       sync.Mutex
	compiled *lru[string, *Expression]
}

// NewEngine returns an engine that knows the functions of caller, which it changes: see [Protect].
// The results of impure functions depend on more than their arguments: what calls them is computed
// each time it is asked for.
func NewEngine(caller *jmespath.FunctionCaller, impure ...string) *Engine {
	Protect(caller)
	e := &Engine{
		MaxResult: DefaultMaxResult, caller: caller, candidates: maxCandidates,
		impure: make(map[string]bool, len(impure)), compiled: newLRU[string, *Expression](maxExpressions),
	}
	for _, name := range impure {
		e.impure[name] = true
	}
	return e
}

// Expression is a compiled expression. It is immutable.
type Expression struct {
	text    string
	aliases []string
	parsed  node
	impure  map[string]bool
	plans   [Array + 1]func() *plan
	// keys is what an index is made of that has the expression for its keys.
	keys func() keySource
}

// keySource is a source with the name of its index.
type keySource struct {
	source
	name string
}

// Compile returns the expression; the empty one is the data themselves. Each of the aliases is a
// name that it may use for the data, where they have no such field. The error has the expression
// and the position.
func (e *Engine) Compile(expression string, aliases ...string) (*Expression, error) {
	// The aliases stand before the first two zero bytes.
	key := strings.Join(aliases, "\x00") + "\x00\x00" + expression
	e.mu.Lock()
	compiled, ok := e.compiled.get(key)
	e.mu.Unlock()
	if ok {
		return compiled, nil
	}
	parsed, err := parse(expression)
	if err != nil {
		return nil, err
	}
	aliases = slices.Clone(aliases)
	compiled = &Expression{text: expression, aliases: aliases, parsed: parsed, impure: e.impure}
	for shape := range compiled.plans {
		compiled.plans[shape] = sync.OnceValue(func() *plan {
			return newPlan(parsed, aliases, Shape(shape), e.impure)
		})
	}
	compiled.keys = sync.OnceValue(func() keySource {
		return keySource{source{of: parsed, needed: needOf(parsed)}, "keys " + keyOf(parsed)}
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	if other, ok := e.compiled.get(key); ok { // What is known of results is known by this one.
		return other, nil
	}
	e.compiled.put(key, compiled, compiled.bytes())
	return compiled, nil
}

// bytes estimates the memory that it takes.
func (x *Expression) bytes() int64 { return expressionBytes + bytesOfText*int64(len(x.text)) }

// Check tells what is wrong with an expression before it is evaluated: its syntax, or a function
// that there is not.
func (e *Engine) Check(expression string) error {
	_, err := e.check(expression)
	return err
}

func (e *Engine) check(expression string) (node, error) {
	parsed, err := parse(expression)
	if err != nil {
		return node{}, err
	}
	anyNode(parsed, func(n node) bool {
		if name, ok := n.Value.(string); ok && n.NodeType == jmespath.ASTFunctionExpression && !e.knows(name) {
			err = fmt.Errorf("expression %q: there is no function %s", shorten(expression), name)
		}
		return err != nil
	})
	return parsed, err
}

// checkPure is check for an expression that has to give the same each time.
func (e *Engine) checkPure(expression string) (node, error) {
	parsed, err := e.check(expression)
	if err == nil && calls(parsed, e.impure) {
		err = fmt.Errorf("expression %q: its result depends on more than the object: leave out random, and what depends on the time", shorten(expression))
	}
	return parsed, err
}

// knows reports whether there is a function, which the library tells only those that call it.
func (e *Engine) knows(name string) (known bool) {
	defer func() {
		if recover() != nil { // It exists and misses its arguments.
			known = true
		}
	}()
	_, err := e.caller.CallFunction(name, nil, jmespath.NewInterpreter())
	return err == nil || err.Error() != "unknown function: "+name
}

func parse(expression string) (parsed node, err error) {
	if len(expression) > maxExpression {
		return node{}, fmt.Errorf("expression %q: longer than %d bytes", shorten(expression), maxExpression)
	}
	if strings.TrimSpace(expression) == "" {
		return current, nil
	}
	defer func() {
		// The parser reads beyond the end of some incomplete expressions.
		if recover() != nil {
			err = fmt.Errorf("expression %q: incomplete, position %d", shorten(expression), len(expression))
		}
	}()
	parsed, err = jmespath.NewParser().Parse(expression)
	var syntax jmespath.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return node{}, fmt.Errorf("expression %q, position %d: %w", shorten(expression), syntax.Offset, err)
	case err != nil:
		return node{}, fmt.Errorf("expression %q: %w", shorten(expression), err)
	case nesting(parsed) > maxNesting:
		return node{}, fmt.Errorf("expression %q: nested deeper than %d", shorten(expression), maxNesting)
	}
	return parsed, nil
}

// shorten keeps messages readable.
func shorten(expression string) string {
	const most = 500
	if len(expression) <= most {
		return expression
	}
	return strings.ToValidUTF8(expression[:most], "") + "…"
}

// failed names the expression whose evaluation has ended with an error.
func (x *Expression) failed(err error) error {
	return fmt.Errorf("expression %q: %w", shorten(x.text), err)
}

// execute evaluates n over data that it doesn't change. Some functions of the library panic where
// an argument is of another kind of array than they expect.
func execute(n node, data any, caller *jmespath.FunctionCaller) (value any, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			value, err = nil, fmt.Errorf("a function can't take its argument: %v", problem)
		}
	}()
	return jmespath.NewInterpreter().Execute(n, data, jmespath.WithFunctionCaller(caller))
}
