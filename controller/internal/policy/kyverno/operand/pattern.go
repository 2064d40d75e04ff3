// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package operand

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"github.com/kyverno/kyverno/ext/wildcard"
	"github.com/kyverno/kyverno/pkg/engine/anchor"
	"github.com/kyverno/kyverno/pkg/engine/operator"
	"github.com/kyverno/kyverno/pkg/engine/pattern"
	"github.com/kyverno/kyverno/pkg/engine/validate"

	"github.com/docket-project/docket/controller/internal/policy"
)

// The engine can't be asked which comparisons of a pattern it could not make. But a comparison is only worth an error
// if something depends on it. So the object is compared once more, as if each comparison that can't be made had ended
// the other way: if the verdict is the same, it is right whatever the operands mean.

// stranger is a text that only matches itself.
const stranger = "docket-unreadable"

// verdict is the outcome of a comparison.
type verdict int

const (
	passes verdict = iota
	skips
	fails
)

// Pattern returns an [Error] if the verdict of patterns, of which one is enough, depends on an operand that can't be
// read. The engine takes it for a failure if failing is true.
func Pattern(object any, wanted []any) (failing bool, err error) {
	w, before, after := &walk{}, fails, fails
	for _, one := range wanted {
		after = min(after, compare(w.node("/", object, one)))
	}
	if w.found == nil {
		return false, nil
	}
	for _, one := range wanted {
		before = min(before, compare(object, one))
	}
	if before == after {
		return false, nil
	}
	return before == fails, w.found
}

// compare copies the pattern, of which the engine replaces parts.
func compare(object, wanted any) verdict {
	wanted = policy.CopyJSON(wanted, func(value any) any { return value })
	err := validate.MatchPattern(logr.Discard(), object, wanted)
	var mismatch *validate.PatternError
	switch {
	case err == nil:
		return passes
	case errors.As(err, &mismatch) && mismatch.Skip:
		return skips
	default:
		return fails
	}
}

// Orders reports whether a pattern has operators that need more than texts. Only for those [Pattern] has an answer.
func Orders(wanted any) bool {
	switch typed := wanted.(type) {
	case map[string]any:
		for _, item := range typed {
			if Orders(item) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(typed, Orders)
	case string:
		return mayOrder(typed) && slices.ContainsFunc(alternatives(typed), func(parts []string) bool {
			return slices.ContainsFunc(parts, func(part string) bool { return orders(part) || negatesOrder(part) })
		})
	}
	return false
}

// mayOrder is a quick look for the letters of operators that need more than texts.
func mayOrder(text string) bool { return strings.ContainsAny(text, "<>-") }

// alternatives splits the text of a pattern at | and, within that, at &.
func alternatives(text string) [][]string {
	var out [][]string
	for alternative := range strings.SplitSeq(text, "|") {
		parts := strings.Split(strings.Trim(alternative, " "), "&")
		for i := range parts {
			parts[i] = strings.Trim(parts[i], " ")
		}
		out = append(out, parts)
	}
	return out
}

// orders reports whether a part of a pattern asks for more or less.
func orders(part string) bool {
	switch operator.GetOperatorFromStringPattern(part) {
	case operator.More, operator.MoreEqual, operator.Less, operator.LessEqual, operator.InRange, operator.NotInRange:
		return true
	default:
		return false
	}
}

// negatesOrder reports whether a part is like !>5, which the engine takes for any text but ">5".
func negatesOrder(part string) bool {
	rest, ok := strings.CutPrefix(part, string(operator.NotEqual))
	rest = strings.TrimSpace(rest)
	return ok && (strings.HasPrefix(rest, "<") || strings.HasPrefix(rest, ">"))
}

// undecided reports whether it depends on an operand that can't be read whether a value matches a text.
func undecided(value any, text string) bool {
	return mayOrder(text) && value != any(text) && matches(value, text, false) != matches(value, text, true)
}

// matches compares a value with a text; what can't be compared ends as assumed.
func matches(value any, text string, assumed bool) bool {
	return slices.ContainsFunc(alternatives(text), func(parts []string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool {
			if !decidable(value, part) {
				return !assumed
			}
			return !pattern.Validate(logr.Discard(), value, part)
		})
	})
}

// decidable reports whether both sides of a comparison can be read. A value that is missing counts as 0 for the
// engine: that it is too little is right, that it is little enough is not.
func decidable(value any, part string) bool {
	if negatesOrder(part) {
		return false
	}
	if !orders(part) {
		return true
	}
	if value == nil {
		return !pattern.Validate(logr.Discard(), nil, part)
	}
	text, ok := value.(string)
	if !ok {
		n, isNumber := number(value)
		text = fmt.Sprintf("%f", n) // As the engine does.
		if !isNumber || n != 0 && strings.Trim(text, "-0.") == "" {
			return false
		}
	}
	both := func(side string) bool {
		return isDuration(side) && isDuration(text) || isQuantity(side) && isQuantity(text)
	}
	for _, bounds := range [][]string{operator.InRangeRegex.FindStringSubmatch(part), operator.NotInRangeRegex.FindStringSubmatch(part)} {
		if bounds != nil {
			return both(bounds[1]) && both(bounds[2])
		}
	}
	return both(strings.TrimSpace(strings.TrimLeft(part, "<>=")))
}

// walk goes through an object and a pattern at a time.
type walk struct{ found error }

// node returns the object and the pattern for the comparison in which all that is undecided ends the other way. Places
// that the engine does not compare make no difference.
func (w *walk) node(path string, value, wanted any) (any, any) {
	switch typed := wanted.(type) {
	case map[string]any:
		if object, ok := value.(map[string]any); ok {
			return w.object(path, object, typed)
		}
	case []any:
		if list, ok := value.([]any); ok && len(typed) > 0 {
			return w.list(path, list, typed)
		}
	case string:
		if list, ok := value.([]any); ok {
			out, patterns := w.list(path, list, []any{typed})
			return out, patterns.([]any)[0]
		}
		if undecided(value, typed) {
			return w.turn(path, value, typed)
		}
	}
	return value, wanted
}

// turn makes a comparison end the other way.
func (w *walk) turn(path string, value any, text string) (any, any) {
	if w.found == nil {
		what := shown(value)
		if value == nil {
			what = "a missing value"
		}
		w.found = errorf("%s at %s can't be compared with %q: give it and the pattern as numbers, quantities such as 10Gi or durations such as 5m", what, path, text)
	}
	if pattern.Validate(logr.Discard(), value, text) {
		return map[string]any{}, text // What is no text matches none.
	}
	return stranger, text + "|" + stranger
}

func (w *walk) object(path string, object, wanted map[string]any) (any, any) {
	values, patterns := maps.Clone(object), maps.Clone(wanted)
	for key := range wanted {
		name, required := key, true
		if a := anchor.Parse(key); a != nil {
			if anchor.IsNegation(a) {
				continue
			}
			name, required = a.Key(), false
		}
		for _, name := range namesLike(object, name) {
			value, ok := values[name]
			if !ok && !required {
				continue
			}
			value, patterns[key] = w.node(path+name+"/", value, patterns[key])
			if ok || value != nil {
				values[name] = value
			}
		}
	}
	return values, patterns
}

// namesLike returns the name, or the keys of an object that it stands for: those of labels may have wildcards.
func namesLike(object map[string]any, name string) []string {
	if _, ok := object[name]; ok || !wildcard.ContainsWildcard(name) {
		return []string{name}
	}
	var out []string
	for key := range object {
		if wildcard.Match(name, key) {
			out = append(out, key)
		}
	}
	return out
}

// list compares each element with each pattern, or with the one at its place if they are lists themselves.
func (w *walk) list(path string, list, wanted []any) (any, any) {
	values, patterns := slices.Clone(list), slices.Clone(wanted)
	_, nested := wanted[0].([]any)
	for i := range values {
		for j := range patterns {
			if !nested || i == j {
				values[i], patterns[j] = w.node(path+strconv.Itoa(i)+"/", values[i], patterns[j])
			}
		}
	}
	return values, patterns
}
