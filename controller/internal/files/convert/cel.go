// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// How strongly operators of CEL bind.
const (
	bindsTernary = iota
	bindsOr
	bindsAnd
	bindsComparison
	bindsSum
	bindsUnary
	bindsPrimary
)

// cel is an expression.
type cel struct {
	text string
	// binding is how strongly its outermost operator binds.
	binding int
}

func (c cel) String() string { return c.text }

// in returns the text for a place that needs a binding: in parentheses if c binds less.
func (c cel) in(binding int) string {
	if c.binding < binding {
		return "(" + c.text + ")"
	}
	return c.text
}

func primary(text string) cel    { return cel{text, bindsPrimary} }
func comparison(text string) cel { return cel{text, bindsComparison} }

var (
	always = primary("true")
	never  = primary("false")
)

func boolean(value bool) cel {
	if value {
		return always
	}
	return never
}

// chain joins the operands by an operator of which absorbing is the result as soon as one operand is it, and
// neutral the result without operands. Operands that occur twice count once.
func chain(operator string, binding int, neutral, absorbing cel, operands []cel) cel {
	var kept []cel
	seen := map[string]bool{}
	for _, operand := range operands {
		switch {
		case operand == absorbing:
			return absorbing
		case operand == neutral || seen[operand.text]:
			continue
		}
		seen[operand.text] = true
		kept = append(kept, operand)
	}
	switch len(kept) {
	case 0:
		return neutral
	case 1:
		return kept[0]
	}
	texts := make([]string, len(kept))
	for i, operand := range kept {
		texts[i] = operand.in(binding)
	}
	return cel{strings.Join(texts, operator), binding}
}

func and(operands ...cel) cel { return chain(" && ", bindsAnd, always, never, operands) }

func or(operands ...cel) cel { return chain(" || ", bindsOr, never, always, operands) }

func not(c cel) cel {
	switch {
	case c == always:
		return never
	case c == never:
		return always
	case c.binding == bindsUnary && c.text[0] == '!':
		inner := c.text[1:]
		if strings.HasPrefix(inner, "(") {
			return cel{inner, bindsPrimary}
		}
		return primary(inner)
	}
	return cel{"!" + c.in(bindsUnary), bindsUnary}
}

// choose is condition ? yes : no.
func choose(condition, yes, no cel) cel {
	switch condition {
	case always:
		return yes
	case never:
		return no
	}
	return cel{condition.in(bindsOr) + " ? " + yes.in(bindsOr) + " : " + no.in(bindsTernary), bindsTernary}
}

// equal is a == b; b is a literal.
func equal(a cel, b string) cel { return comparison(a.in(bindsSum) + " == " + b) }

// oneOf is true if a is one of the texts.
func oneOf(a cel, texts []string) cel {
	if len(texts) == 1 {
		return equal(a, quote(texts[0]))
	}
	return comparison(a.in(bindsSum) + " in " + list(texts))
}

// call is a.function(arguments).
func call(a cel, function string, arguments ...string) cel {
	return primary(a.in(bindsPrimary) + "." + function + "(" + strings.Join(arguments, ", ") + ")")
}

// quote returns a string literal.
func quote(text string) string { return strconv.Quote(text) }

// list returns a list of string literals.
func list(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// identifier matches the names that may follow a dot.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// reserved are the words that CEL does not take as names of fields.
var reserved = map[string]bool{"in": true, "true": true, "false": true, "null": true}

func dotted(name string) bool { return identifier.MatchString(name) && !reserved[name] }

// place is where a value is: below an expression that always has one.
type place struct {
	root cel
	keys []string
	// known tells that there is a value.
	known bool
	// there is true if the root stands for a value and not for one that is missing; empty if it always does.
	there cel
}

func at(root cel) place { return place{root: root, known: true} }

// below returns the place of a member.
func (p place) below(key string) place {
	keys := make([]string, len(p.keys), len(p.keys)+1)
	copy(keys, p.keys)
	return place{root: p.root, keys: append(keys, key)}
}

// assured returns the place for where a value is known to be there.
func (p place) assured() place {
	p.known = true
	return p
}

// indexed returns the place of an element of a list.
func (p place) indexed(i int) place { return p.below(indexMark + strconv.Itoa(i)) }

// indexMark begins the keys that are indexes of lists: no key of a map in JSON has it.
const indexMark = "\x00"

// value is the value; an error of the evaluation if there is none.
func (p place) value() cel {
	if len(p.keys) == 0 {
		return p.root
	}
	return p.path("")
}

// optional is the value or none, as an optional of CEL.
func (p place) optional() cel { return p.path("?") }

// path selects each key from what is before it, with mark in front of it.
func (p place) path(mark string) cel {
	text := p.root.in(bindsPrimary)
	for _, key := range p.keys {
		index, isIndex := strings.CutPrefix(key, indexMark)
		switch {
		case isIndex:
			text += "[" + mark + index + "]"
		case dotted(key):
			text += "." + mark + key
		default:
			text += "[" + mark + quote(key) + "]"
		}
	}
	return primary(text)
}

// or is the value, or what is given if there is none.
func (p place) or(otherwise string) cel {
	if p.known || len(p.keys) == 0 {
		return p.value()
	}
	return call(p.optional(), "orValue", otherwise)
}

// elements is the list at the place; empty if there is none. Some lists are null in a cluster, such as the rules of
// a ClusterRole that is aggregated.
func (p place) elements() cel {
	list := p.or("[]")
	if n := len(p.keys); n > 0 && (p.keys[n-1] == "rules" || p.keys[n-1] == "subjects") && !p.known {
		return primary("optional.ofNonZeroValue(" + list.text + ").orValue([])")
	}
	return list
}

// isList reports whether the name of the place is one of lists.
func (p place) isList() bool {
	n := len(p.keys)
	if n == 0 {
		return false
	}
	last := p.keys[n-1]
	if slices.Contains(listFields, last) {
		return true
	}
	return strings.HasSuffix(last, "s") && !strings.HasSuffix(last, "ss") && !slices.Contains(otherFields, last) && !strings.HasSuffix(last, "Seconds")
}

// listFields are lists, and otherFields are none, although their names look different.
var (
	listFields  = []string{"add", "drop", "command"}
	otherFields = []string{"labels", "annotations", "matchLabels", "limits", "requests", "status", "nodeSelector", "replicas", "resources"}
)

// present reports whether there is a value.
func (p place) present() cel {
	switch {
	case p.known:
		return always
	case len(p.keys) == 0:
		if p.there.text == "" {
			return always
		}
		return p.there
	case len(p.keys) == 1 && dotted(p.keys[0]):
		return primary("has(" + p.value().text + ")")
	default:
		return call(p.optional(), "hasValue")
	}
}
