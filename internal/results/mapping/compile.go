// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	celtypes "github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/types"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

// The variables of expressions.
const (
	objectVariable = "object"
	itemVariable   = "item"
)

// maxExpression is the largest length of an expression in bytes.
const maxExpression = 10_000

// expression is the value of a field: CEL, or a list of it, of which the first counts that gives something.
type expression []*alternative

// alternative is one text in CEL.
type alternative struct {
	text string
	// line of the file where it is.
	line int

	compiled
}

// compiled is what evaluates a text in CEL.
type compiled struct {
	// perItem says that it reads the item; others have one value for a whole object.
	perItem bool
	// path is what it selects of a variable, if that is all it does, the variable first. Most expressions are paths,
	// and following one takes a fraction of the time of a program.
	path []string
	// constant is its value, if it is a text.
	constant *string
	// cost is what an evaluation costs of a program that measures nothing, because it can't cost much; 0 for others.
	cost    uint64
	program cel.Program
}

func (e expression) perItem() bool {
	return slices.ContainsFunc(e, func(a *alternative) bool { return a.perItem })
}

// field is an expression, and what its value is for.
type field struct {
	name string
	expression
	set func(r *row, text string) error
	// required fields are set whatever the text.
	required bool
}

// expressions is what CEL knows in mappings: what it knows in Kubernetes, and the variables.
//
// Made once is the purpose of this variable.
var expressions = sync.OnceValues(func() (*cel.Env, error) {
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	return base.StoredExpressionsEnv().Extend(
		cel.Variable(objectVariable, cel.DynType), cel.Variable(itemVariable, cel.DynType), cel.ParserExpressionSizeLimit(maxExpression))
})

// simply makes programs of simple expressions. The libraries of the other one would make them measure their cost.
//
// Made once is the purpose of this variable.
var simply = sync.OnceValues(func() (*cel.Env, error) { return cel.NewEnv(cel.OptionalTypes()) })

// compiler compiles expressions, each text once.
type compiler map[string]compiled

// compile compiles the expressions of a mapping, and returns what is wrong with them.
func (m *Mapping) compile(c compiler) []error {
	var errs []error
	compile := func(name string, e expression, items bool) {
		for _, a := range e {
			err := c.compile(a)
			if err == nil && !items && a.perItem {
				err = fmt.Errorf("item is not known here; use object, or give the field among those of results")
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("line %d: %s: %w", a.line, name, err))
			}
		}
	}
	compile("source", m.Source, false)
	for _, f := range m.Subject.fields("subject") {
		compile(f.name, f.expression, false)
	}
	for i, b := range m.Results {
		at := fmt.Sprintf("results[%d]", i)
		if b == nil {
			errs = append(errs, fmt.Errorf("%s: is empty; give items, policy and result", at))
			continue
		}
		for _, f := range []field{{name: "items", expression: b.Items}, {name: "policy", expression: b.Policy}, {name: "result", expression: b.Result}} {
			if len(f.expression) == 0 {
				errs = append(errs, fmt.Errorf("%s.%s: is missing; give an expression in CEL", at, f.name))
			}
		}
		compile(at+".items", b.Items, false)
		b.fields = b.allFields()
		for _, f := range b.fields {
			compile(at+"."+f.name, f.expression, true)
		}
		b.fields = slices.DeleteFunc(b.fields, func(f field) bool { return len(f.expression) == 0 })
	}
	return errs
}

// fields are the parts of a subject, with their names below a field.
func (s *subject) fields(of string) []field {
	return []field{
		{of + ".apiVersion", s.APIVersion, set(func(r *row, text string) { r.about().APIVersion = text }), false},
		{of + ".kind", s.Kind, set(func(r *row, text string) { r.about().Kind = text }), false},
		{of + ".namespace", s.Namespace, set(func(r *row, text string) { r.about().Namespace = text }), false},
		{of + ".name", s.Name, set(func(r *row, text string) { r.about().Name = text }), false},
		{of + ".uid", s.UID, set(func(r *row, text string) { r.about().UID = types.UID(text) }), false},
	}
}

// set is for fields that take any text.
func set(assign func(r *row, text string)) func(*row, string) error {
	return func(r *row, text string) error {
		assign(r, text)
		return nil
	}
}

func (b *block) allFields() []field {
	all := append(b.Subject.fields("subject"),
		field{"source", b.Source, set(func(r *row, text string) { r.Source = &text }), false},
		field{"policy", b.Policy, (*row).setPolicy, true},
		field{"rule", b.Rule, set(func(r *row, text string) { r.Rule = text }), false},
		field{"category", b.Category, set(func(r *row, text string) { r.Category = text }), false},
		field{"severity", b.Severity, set((*row).setSeverity), false},
		field{"result", b.Result, (*row).setResult, true},
		field{"message", b.Message, set(func(r *row, text string) { r.Message = text }), false},
		field{"timestamp", b.Timestamp, (*row).setTimestamp, false},
		field{"scored", b.Scored, (*row).setScored, false},
	)
	for _, name := range slices.Sorted(maps.Keys(b.Properties)) {
		put := func(r *row, text string) {
			if r.Properties == nil {
				r.Properties = make(map[string]string, len(b.Properties))
			}
			r.Properties[name] = text
		}
		all = append(all, field{"properties." + name, b.Properties[name], set(put), false})
	}
	return all
}

// compile makes a text ready to be evaluated.
func (c compiler) compile(a *alternative) error {
	if known, ok := c[a.text]; ok {
		a.compiled = known
		return nil
	}
	env, err := expressions()
	if err != nil {
		return err
	}
	checked, issues := env.Compile(a.text)
	if issues.Err() != nil {
		var all []string
		for _, issue := range issues.Errors() {
			all = append(all, fmt.Sprintf("column %d: %s", issue.Location.Column()+1, issue.Message))
		}
		return fmt.Errorf("%s; use CEL with object and item, such as item.name, and quote texts: 'a text'", strings.Join(all, "; "))
	}
	root := checked.NativeRep().Expr()
	parts, simple := uint64(0), true
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(part ast.Expr) {
		a.perItem = a.perItem || part.Kind() == ast.IdentKind && part.AsIdent() == itemVariable
		parts++
		simple = simple && isSimple(part)
	}))
	a.path = pathOf(root)
	if text, ok := root.AsLiteral().(celtypes.String); ok {
		a.constant = (*string)(&text)
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if !simple {
		options = append(options, cel.CostTracking(&library.CostEstimator{}), cel.CostLimit(celconfig.PerCallLimit))
	} else if env, err = simply(); err != nil {
		return err
	} else {
		a.cost = parts
	}
	a.program, err = env.Program(checked, options...)
	c[a.text] = a.compiled
	return err
}

// isSimple reports whether a part of an expression does no more than its size says: it only selects, compares and
// chooses. To measure such an expression takes longer than to evaluate it.
func isSimple(part ast.Expr) bool {
	if part.Kind() == ast.CallKind {
		return slices.Contains([]string{
			operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Equals, operators.NotEquals,
			operators.OptSelect, operators.OptIndex,
		}, part.AsCall().FunctionName())
	}
	return slices.Contains([]ast.ExprKind{ast.IdentKind, ast.LiteralKind, ast.SelectKind}, part.Kind())
}

// pathOf returns the names by which an expression selects a part of a variable, nil if it does anything else.
func pathOf(e ast.Expr) []string {
	switch {
	case e.Kind() == ast.IdentKind && (e.AsIdent() == objectVariable || e.AsIdent() == itemVariable):
		return []string{e.AsIdent()}
	case e.Kind() == ast.SelectKind && !e.AsSelect().IsTestOnly():
		if of := pathOf(e.AsSelect().Operand()); of != nil {
			return append(of, e.AsSelect().FieldName())
		}
	}
	return nil
}
