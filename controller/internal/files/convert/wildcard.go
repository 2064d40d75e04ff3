// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/operators"
)

// hasWildcard reports whether a text has * or ?.
func hasWildcard(text string) bool { return strings.ContainsAny(text, "*?") }

// wildcard reports whether a string matches a text with wildcards: * for any characters, ? for one.
func wildcard(value cel, text string) cel {
	if !hasWildcard(text) {
		return equal(value, quote(text))
	}
	inner := strings.Trim(text, "*")
	simple := !hasWildcard(inner)
	begins, ends := strings.HasPrefix(text, "*"), strings.HasSuffix(text, "*")
	switch {
	case inner == "":
		return always
	case text == "?*" || text == "*?":
		return call(operators.NotEquals, value, emptyText)
	case simple && begins && ends:
		return method(value, "contains", quote(inner))
	case simple && ends:
		return method(value, "startsWith", quote(inner))
	case simple && begins:
		return method(value, "endsWith", quote(inner))
	default:
		return method(value, "matches", quote(expression(text)))
	}
}

// expression is the regular expression of a text with wildcards.
func expression(text string) string {
	quoted := regexp.QuoteMeta(text)
	quoted = strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(quoted)
	return "^(?s:" + quoted + ")$"
}

// anyWildcard reports whether a string matches one of the texts.
func anyWildcard(value cel, texts []string) cel {
	var plain []string
	var operands []cel
	for _, text := range texts {
		if hasWildcard(text) {
			operands = append(operands, wildcard(value, text))
		} else if !slices.Contains(plain, text) {
			plain = append(plain, text)
		}
	}
	if len(plain) > 0 {
		operands = append([]cel{oneOf(value, plain)}, operands...)
	}
	return or(operands...)
}
