// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/kyverno/go-jmespath"
)

// kind is what is known about the type of a value.
type kind int

const (
	unknownKind kind = iota
	textKind
	numberKind
	boolKind
	listKind
)

// term is an expression of JMESPath in CEL.
type term struct {
	cel
	kind kind
	// path is set if it is a place in the resource or in an element; cel is then its value.
	path *place
	// guards must be true: otherwise a field is missing, which is an error of JMESPath.
	guards []cel
	// present is false where the value is null.
	present cel
	// nested tells that its elements may be lists.
	nested bool
	// empty tells that cel is an empty list where the value is null.
	empty bool
	// literal is set if it is one.
	literal any
}

func known(value cel, k kind) term { return term{cel: value, kind: k, present: always} }

// guard is what must be true for a value to be there at all.
func (t term) guard() cel { return and(t.guards...) }

// or is the value, or what is given where it is null or not there.
func (t term) or(otherwise cel) cel {
	if t.path != nil {
		return t.path.or(otherwise)
	}
	if t.empty && otherwise == emptyList {
		return t.cel
	}
	there := and(t.guard(), t.present)
	if there != always && otherwise == null {
		return choose(there, dyn(t.cel), null)
	}
	return choose(there, t.cel, otherwise)
}

// elements is the list; empty where it is null or not there.
func (t term) elements() cel {
	if t.path != nil {
		return t.path.elements()
	}
	return t.or(emptyList)
}

// scope is what names mean in an expression.
type scope struct {
	// current is what a path begins with; nil outside projections.
	current *term
	// names are the variables of the context, and those of loops.
	names map[string]term
}

func (s scope) in(current term) scope { return scope{&current, s.names} }

func (s scope) with(names map[string]term) scope {
	all := make(map[string]term, len(s.names)+len(names))
	maps.Copy(all, s.names)
	maps.Copy(all, names)
	return scope{s.current, all}
}

func placed(p place) term {
	t := term{cel: p.value(), path: &p, present: always}
	if guard := p.present(); guard != always {
		t.guards = []cel{guard}
	}
	return t
}

// jmespath converts an expression.
func (c *converter) jmespath(text string, s scope, field string) term {
	written := text
	text, s = c.innerVariables(text, s, field)
	// Who quotes this name wants that Kyverno does not rewrite the path for the controllers of pods.
	if strings.Contains(text, `request."object"`) && !c.verbatim {
		c.verbatim = true
		defer func() { c.verbatim = false }()
	}
	node, err := jmespath.NewParser().Parse(strings.TrimSpace(text))
	if err != nil {
		return c.refuseTerm(field, "correct it", "the expression %q can't be read: %v", text, err)
	}
	before := c.err
	t := c.node(node, s, field)
	if before == nil && c.err != nil {
		c.err = fmt.Errorf("%w (in %q)", c.err, strings.TrimSpace(written))
	}
	return t
}

// innerName begins the names of the variables that are part of an expression.
const innerName = "__inner"

// innerVariables gives names to texts with variables that are part of an expression, as in name == '{{ other }}'.
func (c *converter) innerVariables(text string, s scope, field string) (string, scope) {
	if !strings.Contains(text, "{{") {
		return text, s
	}
	names := map[string]term{}
	text = quoted.ReplaceAllStringFunc(text, func(literal string) string {
		if !strings.Contains(literal, "{{") {
			return literal
		}
		t := c.template(strings.Trim(literal, "'"), scope{names: s.names}, field)
		name := fmt.Sprintf("%s%d", innerName, len(names))
		// Without it, the evaluation is to have an error.
		t.cel, t.kind, t.path, t.guards = textOf(t), textKind, nil, nil
		names[name] = t
		return name
	})
	if strings.Contains(text, "{{") {
		c.refuse(field, byHand, "a variable is part of the expression %q", text)
	}
	return text, s.with(names)
}

// quoted matches the texts in an expression.
var quoted = regexp.MustCompile(`'[^']*'`)

func (c *converter) node(n jmespath.ASTNode, s scope, field string) term {
	switch n.NodeType {
	case jmespath.ASTField:
		return c.field(n.Value.(string), s, field)
	case jmespath.ASTSubexpression, jmespath.ASTIndexExpression, jmespath.ASTPipe:
		left := c.node(n.Children[0], s, field)
		right := c.node(n.Children[1], s.in(left), field)
		if right.path == nil {
			right.guards = append(left.guards[:len(left.guards):len(left.guards)], right.guards...)
			if n.Children[1].NodeType != jmespath.ASTFunctionExpression {
				right.present = and(left.present, right.present)
			}
		}
		return right
	case jmespath.ASTIndex:
		return c.index(n.Value.(int), s, field)
	case jmespath.ASTCurrentNode, jmespath.ASTIdentity:
		if s.current == nil {
			return c.refuseTerm(field, byHand, "@ stands for everything")
		}
		return *s.current
	case jmespath.ASTLiteral:
		return c.literal(n.Value, field)
	case jmespath.ASTProjection, jmespath.ASTFilterProjection:
		return c.projection(n, s, field)
	case jmespath.ASTFlatten:
		return c.flatten(n, s, field)
	case jmespath.ASTOrExpression:
		return c.orElse(n, s, field)
	case jmespath.ASTAndExpression, jmespath.ASTNotExpression, jmespath.ASTComparator:
		ok := c.truth(n, s, field)
		return known(ok, boolKind)
	case jmespath.ASTFunctionExpression:
		return c.function(n, s, field)
	default:
		return c.refuseTerm(field, byHand, "%s of JMESPath is not supported", n.NodeType)
	}
}

// field converts a name: of a variable, or of a member of what the path has so far.
func (c *converter) field(name string, s scope, field string) term {
	if s.current == nil || strings.HasPrefix(name, innerName) {
		return c.name(name, s, field)
	}
	if s.current.path == nil {
		if s.current.kind != unknownKind {
			return c.refuseTerm(field, byHand, "it selects %s of what has no members", name)
		}
		p := at(s.current.cel).below(name)
		t := placed(p)
		t.guards = append(s.current.guards[:len(s.current.guards):len(s.current.guards)], t.guards...)
		return t
	}
	p := *s.current.path
	if len(p.keys) == 0 && p.root == request {
		return c.request(name, field)
	}
	inner := c.member(p, name)
	t := placed(inner)
	if there := s.current.present; there != always {
		// A member of null is null, and not missing.
		t.guards, t.present = append(s.current.guards[:len(s.current.guards):len(s.current.guards)], or(not(there), inner.present())), there
	}
	return t
}

// request stands for the variable of Kyverno, whose members are not those of CEL's.
var (
	request   = ident("request")
	operation = ident("request.operation")
)

// name converts a name that begins an expression.
func (c *converter) name(name string, s scope, field string) term {
	if t, ok := s.names[name]; ok {
		return t
	}
	switch name {
	case "request":
		return placed(at(request))
	case "serviceAccountName", "serviceAccountNamespace":
		part := int64(3)
		if name == "serviceAccountNamespace" {
			part = 2
		}
		user := ident("request.userInfo.username")
		ok := method(user, "startsWith", quote("system:serviceaccount:"))
		return known(choose(ok, index(method(user, "split", quote(":")), whole(part)), emptyText), textKind)
	case "images":
		return c.refuseTerm(field, "use the functions image() of CEL by hand", "the variable images has no counterpart")
	default:
		return c.refuseTerm(field, byHand, "the variable %s is not known", name)
	}
}

// request converts a member of the variable request.
func (c *converter) request(name, field string) term {
	switch name {
	case "object":
		if c.verbatim {
			return placed(at(dyn(c.object)))
		}
		return placed(at(c.object))
	case "oldObject":
		return placed(at(ident("oldObject")))
	case "operation", "namespace", "name":
		return known(ident("request."+name), textKind)
	case "userInfo", "kind", "resource":
		return placed(at(ident("request." + name)))
	case "roles", "clusterRoles":
		return c.refuseTerm(field, "name users and groups instead", "CEL does not know the roles of a user (request.%s)", name)
	default:
		return c.refuseTerm(field, byHand, "request.%s has no counterpart", name)
	}
}

func (c *converter) index(i int, s scope, field string) term {
	if s.current == nil || i < 0 {
		return c.refuseTerm(field, byHand, "the index [%d] counts from the end", i)
	}
	if p := s.current.path; p != nil {
		element := p.indexed(i)
		return term{cel: element.value(), path: &element, guards: s.current.guards, present: element.present()}
	}
	list := s.current.or(emptyList)
	return term{cel: index(list, whole(int64(i))), present: longerThan(list, i)}
}

func (c *converter) literal(value any, field string) term {
	t := term{present: always, literal: value}
	switch value := value.(type) {
	case string:
		t.cel, t.kind = quote(value), textKind
	case bool:
		t.cel, t.kind = boolean(value), boolKind
	case float64:
		t.cel, t.kind = number(value), numberKind
	case []any:
		if len(value) > 0 {
			return c.refuseTerm(field, byHand, "the list %v is part of an expression", value)
		}
		t.cel, t.kind = emptyList, listKind
	case map[string]any:
		if len(value) > 0 {
			return c.refuseTerm(field, byHand, "the map %v is part of an expression", value)
		}
		t.cel = emptyMap
	default:
		return c.refuseTerm(field, byHand, "the literal %v is part of an expression", value)
	}
	return t
}

// both converts the two operands of an expression.
func (c *converter) both(n jmespath.ASTNode, s scope, field string) (left, right term) {
	return c.node(n.Children[0], s, field), c.node(n.Children[1], s, field)
}

// orElse converts a || b: b where a is null, false or empty.
func (c *converter) orElse(n jmespath.ASTNode, s scope, field string) term {
	left, right := c.both(n, s, field)
	if left.kind == boolKind && right.kind == boolKind && left.path == nil {
		return known(or(left.cel, right.cel), boolKind)
	}
	if same(left.cel, operation) {
		return left // There always is one, also for existing resources.
	}
	zero := isZero(right.literal)
	if left.path != nil {
		value := left.path.or(null)
		if zero {
			t := known(left.path.or(right.cel), unknownKind)
			t.present = always
			return t
		}
		empty := isEmpty(value)
		t := known(choose(empty, right.cel, left.path.value()), unknownKind)
		t.guards = conditional(empty, right.guards)
		t.present = choose(empty, right.present, always)
		return t
	}
	if left.kind == listKind && zero {
		there := and(left.guard(), left.present)
		if right.kind == textKind {
			return known(choose(and(there, hasElements(left.cel)), dyn(left.cel), dyn(emptyText)), unknownKind)
		}
		t := known(left.or(right.cel), listKind)
		t.nested, t.empty = left.nested, left.empty
		return t
	}
	if zero {
		return known(left.or(right.cel), unknownKind)
	}
	return c.refuseTerm(field, byHand, "|| is supported behind a path, and with an empty value behind a list")
}

// isEmpty is true for what JMESPath takes for false.
func isEmpty(value cel) cel {
	return or(equal(value, null), equal(value, emptyText), equal(value, never), equal(value, emptyList), equal(value, emptyMap))
}

func conditional(when cel, guards []cel) []cel {
	var out []cel
	for _, guard := range guards {
		out = append(out, or(not(when), guard))
	}
	return out
}

func isZero(value any) bool {
	switch value := value.(type) {
	case string:
		return value == ""
	case bool:
		return !value
	case []any:
		return len(value) == 0
	case map[string]any:
		return len(value) == 0
	default:
		return false
	}
}
