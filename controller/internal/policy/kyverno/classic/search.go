// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	gojmespath "github.com/kyverno/go-jmespath"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/operand"
)

var errReference = errors.New("an expression with & is only for map, max_by, min_by and sort_by, each with the list beside")

// search is the evaluation of one JMESPath expression. It walks through the tree like the library, and leaves to it
// what a node does by itself, so that the results are the library's; but it counts what is made.
type search struct {
	functions *gojmespath.FunctionCaller
	meter     *meter.Meter
	// confined expressions may not call functions whose result has no bound.
	confined bool
	// strict ones fail where the library takes what it can't read for nothing.
	strict bool
}

// run evaluates an expression for data.
func (i *search) run(ast gojmespath.ASTNode, data any) (any, error) {
	out, err := i.eval(&ast, data)
	if i.meter.Spent != nil { // Some nodes take an error for nothing.
		return nil, i.meter.Spent
	}
	return out, err
}

func (i *search) eval(node *gojmespath.ASTNode, value any) (any, error) {
	if i.meter.Spent != nil {
		return nil, i.meter.Spent
	}
	switch node.NodeType {
	case gojmespath.ASTField:
		if object, ok := value.(map[string]any); ok {
			if found, ok := object[node.Value.(string)]; ok {
				return found, nil
			}
		}
		return alone(node, value)
	case gojmespath.ASTIdentity, gojmespath.ASTCurrentNode:
		return value, nil
	case gojmespath.ASTLiteral:
		return node.Value, nil
	case gojmespath.ASTSubexpression, gojmespath.ASTIndexExpression:
		left, err := i.eval(&node.Children[0], value)
		if err != nil {
			return nil, err
		}
		return i.eval(&node.Children[1], left)
	case gojmespath.ASTKeyValPair:
		return i.eval(&node.Children[0], value)
	case gojmespath.ASTExpRef:
		return nil, errReference
	case gojmespath.ASTFunctionExpression:
		return i.call(node, value)
	case gojmespath.ASTOrExpression, gojmespath.ASTAndExpression, gojmespath.ASTNotExpression, gojmespath.ASTPipe, gojmespath.ASTComparator:
		return i.logic(node, value)
	default:
		return i.list(node, value)
	}
}

// alone evaluates a node without children.
func alone(node *gojmespath.ASTNode, value any) (any, error) {
	return gojmespath.NewInterpreter().Execute(*node, value)
}

// known is eval, with null for missing fields.
func (i *search) known(node *gojmespath.ASTNode, value any) (any, error) {
	out, err := i.eval(node, value)
	if notFound := (gojmespath.NotFoundError{}); errors.As(err, &notFound) {
		return nil, nil
	}
	return out, err
}

// logic evaluates nodes that make nothing.
func (i *search) logic(node *gojmespath.ASTNode, value any) (any, error) {
	first, err := i.known(&node.Children[0], value)
	if err != nil {
		return nil, err
	}
	switch node.NodeType {
	case gojmespath.ASTOrExpression:
		if !isFalse(first) {
			return first, nil
		}
		return i.known(&node.Children[1], value)
	case gojmespath.ASTAndExpression:
		if isFalse(first) {
			return first, nil
		}
		return i.eval(&node.Children[1], value)
	case gojmespath.ASTNotExpression:
		return isFalse(first), nil
	case gojmespath.ASTPipe:
		for n := 1; n < len(node.Children) && err == nil; n++ {
			first, err = i.known(&node.Children[n], first)
		}
		return first, err
	default: // A comparison, below.
	}
	second, err := i.known(&node.Children[1], value)
	if err != nil {
		return nil, err
	}
	if i.strict {
		first, second = operand.Number(first), operand.Number(second)
		if err := checkComparison(fmt.Sprint(node.Value), first, second); err != nil {
			return nil, err
		}
	}
	return alone(&gojmespath.ASTNode{NodeType: node.NodeType, Value: node.Value, Children: literals(first, second)}, nil)
}

// nothing returns the errors of a list to filter or to flatten that the library does not take for null: a list that
// does not exist is empty, one that can't be read may have elements.
func (i *search) nothing(err error) error {
	if i.strict && unread(err) != nil {
		return err
	}
	return nil
}

func literals(values ...any) []gojmespath.ASTNode {
	out := make([]gojmespath.ASTNode, len(values))
	for i, value := range values {
		out[i] = gojmespath.ASTNode{NodeType: gojmespath.ASTLiteral, Value: value}
	}
	return out
}

// isFalse reports whether JMESPath takes a value for false.
func isFalse(value any) bool {
	switch typed := value.(type) {
	case nil:
		return true
	case bool:
		return !typed
	case string:
		return typed == ""
	case []any:
		return len(typed) == 0
	case map[string]any:
		return len(typed) == 0
	}
	reflected := reflect.ValueOf(value)
	switch reflected.Kind() {
	case reflect.Slice, reflect.Map:
		return reflected.Len() == 0
	case reflect.Pointer:
		return reflected.IsNil() || isFalse(reflected.Elem().Interface())
	default:
		return false
	}
}

// list evaluates nodes that make a list or an object.
func (i *search) list(node *gojmespath.ASTNode, value any) (any, error) {
	switch node.NodeType {
	case gojmespath.ASTMultiSelectList, gojmespath.ASTMultiSelectHash:
		return i.multiSelect(node, value)
	case gojmespath.ASTProjection:
		left, err := i.known(&node.Children[0], value)
		if err != nil {
			return nil, err
		}
		return i.project(left, &node.Children[1], nil)
	case gojmespath.ASTFilterProjection:
		left, err := i.eval(&node.Children[0], value)
		if err != nil {
			return nil, i.nothing(err)
		}
		return i.project(left, &node.Children[1], &node.Children[2])
	case gojmespath.ASTValueProjection:
		return i.values(node, value)
	case gojmespath.ASTFlatten:
		return i.flatten(node, value)
	case gojmespath.ASTSlice:
		elements, _ := elementsOf(value)
		if err := i.meter.Take(meter.Times(int64(len(elements)), meter.ValueBytes), "a slice"); err != nil {
			return nil, err
		}
	default: // An index, which makes nothing.
	}
	return alone(node, value)
}

func (i *search) multiSelect(node *gojmespath.ASTNode, value any) (any, error) {
	if value == nil {
		return nil, nil
	}
	if err := i.meter.Take(meter.Times(int64(len(node.Children)), meter.EntryBytes), "a list or an object"); err != nil {
		return nil, err
	}
	list, object := []any{}, map[string]any{}
	for n := range node.Children {
		child := &node.Children[n]
		current, err := i.known(child, value)
		if err != nil {
			return nil, err
		}
		if node.NodeType == gojmespath.ASTMultiSelectHash {
			object[child.Value.(string)] = current
		} else {
			list = append(list, current)
		}
	}
	if node.NodeType == gojmespath.ASTMultiSelectHash {
		return object, nil
	}
	return list, nil
}

// elementsOf returns the elements of a list of any type.
func elementsOf(value any) ([]any, bool) {
	if list, ok := value.([]any); ok {
		return list, true
	}
	reflected := reflect.ValueOf(value)
	if reflected.Kind() != reflect.Slice {
		return nil, false
	}
	out := make([]any, reflected.Len())
	for n := range out {
		out[n] = reflected.Index(n).Interface()
	}
	return out, true
}

// project evaluates an expression for the elements of a list for which the condition, if there is one, is met.
func (i *search) project(list any, expression, condition *gojmespath.ASTNode) (any, error) {
	elements, ok := elementsOf(list)
	if !ok {
		return nil, nil
	}
	collected := []any{}
	for _, element := range elements {
		if condition != nil {
			if met, err := i.known(condition, element); err != nil {
				return nil, err
			} else if isFalse(met) {
				continue
			}
		}
		current, err := i.known(expression, element)
		if err != nil {
			return nil, err
		}
		if current == nil {
			continue
		}
		if err := i.meter.Take(meter.ValueBytes, "a projection"); err != nil {
			return nil, err
		}
		collected = append(collected, current)
	}
	return collected, nil
}

// values evaluates an expression for the values of an object, and, as the library, as often for null.
func (i *search) values(node *gojmespath.ASTNode, value any) (any, error) {
	left, err := i.eval(&node.Children[0], value)
	object, ok := left.(map[string]any)
	if err != nil || !ok {
		return nil, i.nothing(err)
	}
	if err := i.meter.Take(meter.Times(int64(len(object)), 2*meter.ValueBytes), "the values of an object"); err != nil {
		return nil, err
	}
	all := make([]any, len(object), 2*len(object))
	for _, value := range object {
		all = append(all, value)
	}
	return i.project(all, &node.Children[1], nil)
}

func (i *search) flatten(node *gojmespath.ASTNode, value any) (any, error) {
	left, err := i.eval(&node.Children[0], value)
	if err != nil {
		return nil, i.nothing(err)
	}
	elements, _ := elementsOf(left)
	var count int64
	for _, element := range elements {
		count++
		if list, ok := element.([]any); ok {
			count += int64(len(list))
		}
	}
	if err := i.meter.Take(meter.Times(count, meter.ValueBytes), "a flattened list"); err != nil {
		return nil, err
	}
	return alone(&gojmespath.ASTNode{NodeType: node.NodeType, Children: literals(left)}, nil)
}

// call evaluates a function.
func (i *search) call(node *gojmespath.ASTNode, value any) (any, error) {
	name, ok := node.Value.(string)
	if !ok {
		return alone(node, value)
	}
	if i.confined && base.UnboundedFunctions[name] {
		return nil, base.UnboundedError(name)
	}
	if list, expression := referenced(name, node.Children); expression != nil {
		return i.callFor(name, list, expression, value)
	}
	args := make([]any, len(node.Children))
	for n := range node.Children {
		var err error
		if args[n], err = i.known(&node.Children[n], value); err != nil {
			return nil, err
		}
	}
	return i.apply(name, args)
}

// apply calls a function of the library.
func (i *search) apply(name string, args []any) (any, error) {
	if estimate, ok := estimates[name]; ok {
		if err := i.meter.Take(estimate(args), name); err != nil {
			return nil, err
		}
	}
	out, err := i.functions.CallFunction(name, args, gojmespath.NewInterpreter())
	if err != nil {
		if missing := slices.ContainsFunc(args, func(arg any) bool { return arg == nil }); !missing {
			err = operand.Wrap(err)
		}
		return nil, err
	}
	return out, i.meter.Take(shallowBytes(out), name)
}

// referenced returns the arguments of a function that evaluates an expression for the elements of a
// list; nil if it is none, or the arguments are not in their places.
func referenced(name string, args []gojmespath.ASTNode) (list, expression *gojmespath.ASTNode) {
	if len(args) != 2 {
		return nil, nil
	}
	switch name {
	case "map":
		list, expression = &args[1], &args[0]
	case "sort_by", "max_by", "min_by":
		list, expression = &args[0], &args[1]
	default:
		return nil, nil
	}
	if expression.NodeType != gojmespath.ASTExpRef {
		return nil, nil
	}
	return list, &expression.Children[0]
}

// callFor evaluates the expression for each element, and gives the library's function pairs of the value and the
// element.
func (i *search) callFor(name string, list, expression *gojmespath.ASTNode, value any) (any, error) {
	given, err := i.known(list, value)
	if err != nil {
		return nil, err
	}
	elements, ok := given.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: the argument is no list", name)
	}
	if err := i.meter.Take(meter.Times(int64(len(elements)), 3*meter.ValueBytes), name); err != nil {
		return nil, err
	}
	keys, pairs := make([]any, len(elements)), make([]any, len(elements))
	for n, element := range elements {
		if len(elements) > 1 || name == "map" { // The only one is the best without a look at it.
			if keys[n], err = i.known(expression, element); err != nil {
				return nil, err
			}
		}
		pairs[n] = []any{keys[n], element}
	}
	if name == "map" {
		return keys, nil
	}
	first := gojmespath.ASTNode{NodeType: gojmespath.ASTIndex, Value: 0}
	node := gojmespath.ASTNode{NodeType: gojmespath.ASTFunctionExpression, Value: name, Children: append(
		literals(pairs), gojmespath.ASTNode{NodeType: gojmespath.ASTExpRef, Children: []gojmespath.ASTNode{first}},
	)}
	out, err := gojmespath.NewInterpreter().Execute(node, nil, gojmespath.WithFunctionCaller(i.functions))
	chosen, ok := out.([]any)
	if err != nil || !ok {
		return nil, err
	}
	if name != "sort_by" {
		return chosen[1], nil
	}
	sorted := make([]any, len(chosen))
	for n, pair := range chosen {
		sorted[n] = pair.([]any)[1]
	}
	return sorted, nil
}
