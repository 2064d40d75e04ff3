// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/engine/jsonutils"
	"github.com/kyverno/kyverno/pkg/engine/variables"
	"github.com/kyverno/kyverno/pkg/engine/variables/operator"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/operand"
)

// The engine compares operands where nobody can look on, and says false of those that it can't read. But it asks the
// [document] for each variable, in order. So a rule has variables where it had operands: for each of these, the
// document puts together what the user wrote, as the engine would have, looks at it, and gives it to the engine.

// markPrefix begins the variables that stand for operands. No expression of JMESPath begins with it.
const markPrefix = "docket operand "

// The parts of a rule that [marks] have.
const (
	markKey, markValue = "key", "value"
	markList           = "list"
	markPattern        = "pattern"
)

// marks are the operands of a rule as the user wrote them.
type marks struct {
	conditions []markedCondition
	lists      []string
	patterns   []any
	// texts are pairs: what the engine puts before an error of such a variable, and nothing.
	texts []string
}

// markedCondition has its sides as the engine reads them.
type markedCondition struct {
	operator   kyvernov1.ConditionOperator
	key, value any
	// fixed is true if the value has no variables. Then the engine has it itself.
	fixed  bool
	denies bool
}

// mark puts variables in the place of a rule's operands. The rule is a copy of its own.
func mark(rule *kyvernov1.Rule) *marks {
	m := &marks{}
	visit(rule, m)
	return m
}

// variable returns the text of a variable.
func (m *marks) variable(part string, i int) string {
	name := markPrefix + part + " " + strconv.Itoa(i)
	m.texts = append(m.texts, "failed to resolve "+name+" at path : ", "")
	return "{{ " + name + " }}"
}

func (m *marks) enter([]kyvernov1.ContextEntry) func() { return func() {} }

func (m *marks) list(conditions []kyvernov1.Condition, denies bool) {
	for i := range conditions {
		condition, n := &conditions[i], len(m.conditions)
		key, err := jsonutils.DocumentToUntyped(condition.GetKey())
		value, valueErr := jsonutils.DocumentToUntyped(condition.GetValue())
		if err != nil || valueErr != nil {
			continue // The engine says so.
		}
		fixed := !varies(value)
		m.conditions = append(m.conditions, markedCondition{condition.Operator, key, value, fixed, denies})
		condition.SetKey(m.variable(markKey, n))
		if !fixed {
			condition.SetValue(m.variable(markValue, n))
		}
	}
}

// varies reports whether the engine replaces a part of a value.
func varies(value any) bool {
	data, err := json.Marshal(value)
	return err != nil || bytes.Contains(data, []byte("{{")) || bytes.Contains(data, []byte("$("))
}

func (m *marks) check(check checked) {
	if loop, ok := check.(*kyvernov1.ForEachValidation); ok {
		m.lists = append(m.lists, loop.List)
		loop.List = markPrefix + markList + " " + strconv.Itoa(len(m.lists)-1)
	}
	pattern, set := check.GetPattern(), check.SetPattern
	if pattern == nil {
		pattern, set = check.GetAnyPattern(), check.SetAnyPattern
	}
	if operand.Orders(pattern) || varies(pattern) {
		set(m.variable(markPattern, len(m.patterns)))
		m.patterns = append(m.patterns, pattern)
	}
}

// operands are what the document has found out about the operands of one rule. The zero value is for rules without
// marks.
type operands struct {
	*marks

	// key belongs to the condition whose value the engine asks for next.
	key any
	// patterns are compared next, if there is anything to find out.
	patterns []any
	// met is the last one that an expression could not read.
	met error
	// found is an operand that can't be read; decisive is one on which a failure depends; before is one of the old
	// object of a change.
	found, decisive, before error
}

// ask answers for a variable that stands for an operand; false if the text is none.
func (d *document) ask(text string) (out any, ok bool, err error) {
	part, rest, _ := strings.Cut(strings.TrimPrefix(text, markPrefix), " ")
	i, failed := strconv.Atoi(rest)
	o := &d.operands
	if failed != nil {
		i = -1
	}
	if o.marks == nil || i < 0 {
		return nil, false, nil
	}
	o.met = nil
	switch {
	case part == markKey && i < len(o.conditions):
		condition := &o.conditions[i]
		out, err = variables.SubstituteAll(logr.Discard(), d, condition.key)
		if o.key = out; err == nil && condition.fixed {
			err = d.check(condition, condition.value)
		}
	case part == markValue && i < len(o.conditions):
		condition := &o.conditions[i]
		if out, err = variables.SubstituteAll(logr.Discard(), d, condition.value); err == nil {
			err = d.check(condition, out)
		}
	case part == markList && i < len(o.lists):
		out, err = d.Query(o.lists[i])
	case part == markPattern && i < len(o.marks.patterns):
		out, err = variables.SubstituteAll(logr.Discard(), d, policy.CopyJSON(o.marks.patterns[i], same))
		o.expect(out, err)
	default:
		return nil, false, nil
	}
	// An error that a default has taken care of is not in that of the engine.
	if err != nil && o.met != nil && strings.Contains(err.Error(), o.met.Error()) {
		d.unreadable(o.met)
	}
	return out, true, err
}

func same(value any) any { return value }

// check looks at a condition whose key is known. One that denies goes on if the engine says false of what can't be
// read: if another one denies, that is right.
func (d *document) check(condition *markedCondition, value any) error {
	key := d.operands.key
	problem := operand.Condition(condition.operator, key, value)
	if problem == nil {
		return nil
	}
	d.unreadable(problem)
	if condition.denies && !operator.CreateOperatorHandler(logr.Discard(), d, condition.operator).Evaluate(key, value) {
		return nil
	}
	return problem
}

// expect notes the patterns that the engine is about to compare.
func (o *operands) expect(out any, err error) {
	o.patterns = nil
	if err != nil || !operand.Orders(out) {
		return
	}
	if list, ok := out.([]any); ok {
		o.patterns = list
	} else {
		o.patterns = []any{out}
	}
}

// compare is called when the engine takes the object that it compares with patterns.
func (d *document) compare(object map[string]any) {
	wanted := d.operands.patterns
	if d.operands.patterns = nil; wanted == nil || object == nil {
		return
	}
	failing, problem := operand.Pattern(object, wanted)
	if problem == nil {
		return
	}
	if d.unreadable(problem); failing && !d.looksBack() {
		d.operands.decisive = problem
	}
}

// looksBack reports whether the engine evaluates the old object of a change.
func (d *document) looksBack() bool { return d.request != nil && d.request.replaced }

func (d *document) unreadable(problem error) {
	if o := &d.operands; d.looksBack() {
		o.before = cmp.Or(o.before, problem)
	} else {
		o.found = cmp.Or(o.found, problem)
	}
}

// judge returns an error in the place of results that depend on an operand that can't be read. A failure does not if
// another condition or another element is the reason.
func (o *operands) judge(results []policy.Result, rule string) []policy.Result {
	if len(results) == 0 && o.found != nil { // A loop that has left out all elements.
		return []policy.Result{base.ErrorResult(rule, o.found)}
	}
	for _, result := range results {
		cause := o.decisive
		if result.Outcome != report.OutcomeFail {
			cause = o.found
		}
		if result.Outcome == report.OutcomeSkip { // It may be one because the old object fails, too.
			cause = cmp.Or(cause, o.before)
		}
		if cause != nil {
			return []policy.Result{base.ErrorResult(rule, cause)}
		}
	}
	return results
}

// unread returns the operand that an error is about; nil if it is about none.
func unread(err error) *operand.Error {
	var problem *operand.Error
	errors.As(err, &problem)
	return problem
}

// checkComparison returns an error if an order is asked of what has none. What is missing is never more or less.
func checkComparison(operator string, first, second any) error {
	if operator == "tEQ" || operator == "tNE" {
		return nil
	}
	for _, value := range []any{first, second} {
		if _, ok := value.(float64); !ok && value != nil {
			return operand.Wrap(fmt.Errorf("<, <=, > and >= compare numbers only, not %T: use to_number, or a condition with GreaterThan or LessThan", value))
		}
	}
	return nil
}
