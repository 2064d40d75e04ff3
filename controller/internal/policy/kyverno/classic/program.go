// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	gojmespath "github.com/kyverno/go-jmespath"
	"github.com/kyverno/kyverno/pkg/engine/jmespath"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
)

// program is a compiled JMESPath expression. It is safe for concurrent use.
type program struct {
	ast       gojmespath.ASTNode
	functions *gojmespath.FunctionCaller
	// narrowed is the function that [narrow] has written around it; empty if it has not.
	narrowed string
	strict   bool
}

func newProgram(ast gojmespath.ASTNode, in *expressions) *program {
	out := &program{ast: ast, functions: in.functions, strict: in.strict}
	name, _ := ast.Value.(string)
	if ast.NodeType == gojmespath.ASTFunctionExpression && len(ast.Children) == 2 && (name == membersFunction || name == pairsFunction) {
		out.narrowed = name
	}
	return out
}

func (p *program) Search(data any) (any, error) { return p.searchWith(&meter.Meter{}, false, data) }

// searchWith counts what it makes. A confined search may not call all functions.
func (p *program) searchWith(m *meter.Meter, confined bool, data any) (any, error) {
	one := &search{functions: p.functions, meter: m, confined: confined, strict: p.strict}
	if p.narrowed == "" {
		return one.run(p.ast, data)
	}
	// These are no functions of the library: those see null in the place of what is missing, which
	// is an error of the condition.
	list, err := one.run(p.ast.Children[0], data)
	if err != nil {
		return nil, err
	}
	others, err := one.run(p.ast.Children[1], data)
	if _, isList := others.([]any); err != nil || p.narrowed == pairsFunction && !isList {
		return list, nil //nolint:nilerr // The engine evaluates the other one for itself; a whole list is always right.
	}
	return membersOf(list, others), nil
}

// overlaid compiles the expressions of one document, which see what it shares.
type overlaid struct {
	*expressions
	document *document
}

func (o overlaid) Query(text string) (jmespath.Query, error) {
	compiled, err := o.expressions.compile(text)
	if err != nil {
		return nil, err
	}
	return overlaidQuery{compiled, text, o.document}, nil
}

type overlaidQuery struct {
	program  *program
	text     string
	document *document
}

// Search gets the data of the whole document.
func (q overlaidQuery) Search(data any) (any, error) {
	m := q.document.meter
	if m == nil { // Nobody has begun a rule.
		m = &meter.Meter{}
	}
	out, err := q.program.searchWith(m, q.document.confined, q.document.over(data))
	if err != nil {
		if problem := unread(err); problem != nil {
			q.document.operands.met = problem
		}
		return nil, err
	}
	return out, m.Take(q.document.substituted(q.text, out), "{{ "+q.text+" }}")
}
