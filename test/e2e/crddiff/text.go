// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode/utf8"
)

// formats returns texts of the formats that servers check, valid ones only.
func formats() map[string][]string {
	return map[string][]string{
		"date-time": {"2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05+01:00"},
		"date":      {"2026-01-02", "2024-02-29"},
		"duration":  {"1h", "5m30s", "300ms", "0s", "1 day", "2 weeks"},
		"byte":      {"aGVsbG8=", "eA=="},
		"uuid":      {"11111111-2222-3333-4444-555555555555"},
		"uuid4":     {"11111111-2222-4333-8444-555555555555"},
		"ipv4":      {"10.0.0.1", "255.255.255.255"},
		"ipv6":      {"::1", "2001:db8::1"},
		"ip":        {"10.0.0.1", "::1"},
		"cidr":      {"10.0.0.0/8", "2001:db8::/32", "0.0.0.0/0"},
		"mac":       {"01:23:45:67:89:ab"},
		"email":     {"a@example.com"},
		"hostname":  {"example.com", "a"}, "idn-hostname": {"example.com", "bücher.example"},
		"uri": {"https://example.com/x", "urn:x"}, "isbn": {"9780306406157"}, "hexcolor": {"#fff"}, "rgbcolor": {"rgb(1,2,3)"},
		"creditcard": {"4111111111111111"}, "ssn": {"123-45-6789"}, "bsonobjectid": {"507f1f77bcf86cd799439011"},
		"k8s-short-name": {"a", "short-name"}, "k8s-long-name": {"a.b", "long.name.example"},
	}
}

// wrongTexts are what no format and hardly a pattern allows.
func wrongTexts() []string {
	return []string{"", " ", "!", "\n", "not of this format", "2026-13-01T00:00:00Z", "2026-01-02 03:04:05", "1.2.3", "10.0.0.0/33", "::/129", "a b@c", "-a-", "http://[", "=", "é"}
}

// texts are the strings that a schema allows, as far as its keywords tell one by one.
func (g *generator) text(s *Schema) *Value {
	switch {
	case s.pattern != nil:
		if text, found := g.matching(s); found {
			return String(text)
		}
	case formats()[s.Format] != nil:
		return String(pick(g, formats()[s.Format]...))
	}
	text := g.string()
	if s.MinLength == nil && s.MaxLength == nil {
		return Literal(text)
	}
	return g.fitting(s, text)
}

// fitting returns a string made as long as it has to be.
func (g *generator) fitting(s *Schema, literal string) *Value {
	least, most := lengths(s.MinLength, s.MaxLength)
	if !g.common && s.MaxLength != nil && most <= 4096 && g.chance(0.15) {
		return String(strings.Repeat(pick(g, "x", "é", "日", "😀"), most))
	}
	text, err := strconv.Unquote(literal)
	if err != nil || utf8.RuneCountInString(text) > most {
		text = strings.Repeat("a", min(most, 3))
	}
	return String(text + strings.Repeat("z", max(0, least-utf8.RuneCountInString(text))))
}

// lengths returns bounds as numbers.
func lengths(least, most *int64) (from, to int) {
	to = 1 << 30
	if least != nil {
		from = int(*least)
	}
	if most != nil {
		to = int(*most)
	}
	return from, to
}

// matching returns a text that matches the pattern of a schema and is as long as it has to be.
func (g *generator) matching(s *Schema) (string, bool) {
	pattern, err := regexp.Compile(s.Pattern)
	if err != nil {
		return "", false
	}
	least, most := lengths(s.MinLength, s.MaxLength)
	for more := range 20 {
		var b strings.Builder
		g.match(&b, s.pattern, more/4)
		if length := utf8.RuneCountInString(b.String()); length >= least && length <= most && pattern.MatchString(b.String()) {
			return b.String(), true
		}
	}
	return "", false
}

// match writes a text that an expression matches. Repetitions are about as many as asked for.
func (g *generator) match(b *strings.Builder, e *syntax.Regexp, more int) {
	repeat := func(least, most int) {
		if most < 0 || most > least+more+1 {
			most = least + more + 1
		}
		for range least + g.IntN(most-least+1) {
			g.match(b, e.Sub[0], more)
		}
	}
	switch e.Op {
	case syntax.OpLiteral:
		b.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		b.WriteRune(g.oneOf(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteString(pick(g, "a", "b", "-", "1"))
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(e.Min, e.Max)
	case syntax.OpAlternate:
		g.match(b, pick(g, e.Sub...), more)
	default: // Sequences and groups; anchors write nothing.
		for _, sub := range e.Sub {
			g.match(b, sub, more)
		}
	}
}

// oneOf returns a character of a class, of its pairs of bounds; printable ASCII if it has any.
func (g *generator) oneOf(pairs []rune) rune {
	var plain []rune
	for i := 0; i+1 < len(pairs); i += 2 {
		if from, to := max(pairs[i], ' '), min(pairs[i+1], '~'); from <= to {
			plain = append(plain, from, to)
		}
	}
	if len(plain) > 0 {
		pairs = plain
	}
	if len(pairs) == 0 {
		return 'a'
	}
	i := 2 * g.IntN(len(pairs)/2)
	return pairs[i] + rune(g.IntN(int(min(pairs[i+1]-pairs[i], 255))+1))
}
