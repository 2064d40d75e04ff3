// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/operators"
)

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
	// there is true if the root stands for a value and not for one that is missing; nil if it always does.
	there cel
}

func at(root cel) place { return place{root: root, known: true} }

// below returns the place of a member.
func (p place) below(key string) place {
	return place{root: p.root, keys: append(slices.Clone(p.keys), key)}
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

// last is the last key; empty if there is none.
func (p place) last() string {
	if len(p.keys) == 0 {
		return ""
	}
	return p.keys[len(p.keys)-1]
}

// value is the value; an error of the evaluation if there is none.
func (p place) value() cel { return p.path(build.NewSelect, operators.Index) }

// optional is the value or none, as an optional of CEL.
func (p place) optional() cel {
	return p.path(func(id int64, from cel, key string) cel {
		return build.NewCall(id, operators.OptSelect, from, quote(key))
	}, operators.OptIndex)
}

// path selects each key from what is before it: by its name if it can, else by index.
func (p place) path(selected func(id int64, from cel, key string) cel, index string) cel {
	c := p.root
	for _, key := range p.keys {
		number, isIndex := strings.CutPrefix(key, indexMark)
		switch {
		case isIndex:
			i, _ := strconv.ParseInt(number, 10, 64)
			c = call(index, c, whole(i))
		case dotted(key):
			c = selected(0, c, key)
		default:
			c = call(index, c, quote(key))
		}
	}
	return c
}

// or is the value, or what is given if there is none.
func (p place) or(otherwise cel) cel {
	if p.known || len(p.keys) == 0 {
		return p.value()
	}
	return method(p.optional(), "orValue", otherwise)
}

// elements is the list at the place; empty if there is none. Some lists are null in a cluster, such as the rules of
// a ClusterRole that is aggregated.
func (p place) elements() cel {
	list := p.or(emptyList)
	if (p.last() == "rules" || p.last() == "subjects") && !p.known {
		return method(method(ident("optional"), "ofNonZeroValue", list), "orValue", emptyList)
	}
	return list
}

// present reports whether there is a value.
func (p place) present() cel {
	switch {
	case p.known:
		return always
	case len(p.keys) == 0:
		if p.there == nil {
			return always
		}
		return p.there
	case len(p.keys) == 1 && dotted(p.keys[0]):
		return call(operators.Has, p.value())
	default:
		return method(p.optional(), "hasValue")
	}
}

// isList reports whether the name of the place is one of lists.
func (p place) isList() bool {
	last := p.last()
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

// scalars are fields that are texts in all resources.
var scalars = []string{
	"kind", "name", "namespace", "apiVersion", "type", "image", "phase", "imagePullPolicy", "username", "effect", "storageClassName",
	"ingressClassName", "schedulerName", "serviceAccountName", "priorityClassName", "nodeName", "policyName",
}

// isScalar reports whether a place has a text or a number for sure. If a resource has something else there, the
// policy gives an error.
func (p place) isScalar() bool {
	if slices.Contains(scalars, p.last()) {
		return true
	}
	n := len(p.keys)
	return n > 1 && (p.keys[n-2] == "labels" || p.keys[n-2] == "annotations")
}

// elementName names the elements of the list at the place: container for spec.containers.
func (p place) elementName() string {
	one, isPlural := strings.CutSuffix(p.last(), "s")
	switch {
	case !dotted(p.last()) || !isPlural || strings.HasSuffix(one, "s"):
		return "element"
	case strings.HasSuffix(one, "ie"):
		return strings.TrimSuffix(one, "ie") + "y"
	case len(one) < 3:
		return "element"
	default:
		return one
	}
}
