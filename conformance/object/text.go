// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package object

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// plain is what strings are of which nothing is known.
const plain = "conformance"

// formatValues are values of the formats that OpenAPI, JSON schema and Kubernetes know. The second one is for changes.
var formatValues = map[string][2]string{
	"date-time": {"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"}, "datetime": {"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"},
	"date":     {"2026-01-01", "2026-01-02"},
	"duration": {"1m", "2m"},
	"uuid":     {"8b1ff4a6-3a3c-4a0e-8d2b-1c1f0f5d9e01", "8b1ff4a6-3a3c-4a0e-8d2b-1c1f0f5d9e02"},
	"uuid3":    {"8b1ff4a6-3a3c-3a0e-8d2b-1c1f0f5d9e01", "8b1ff4a6-3a3c-3a0e-8d2b-1c1f0f5d9e02"},
	"uuid4":    {"8b1ff4a6-3a3c-4a0e-8d2b-1c1f0f5d9e01", "8b1ff4a6-3a3c-4a0e-8d2b-1c1f0f5d9e02"},
	"uuid5":    {"8b1ff4a6-3a3c-5a0e-8d2b-1c1f0f5d9e01", "8b1ff4a6-3a3c-5a0e-8d2b-1c1f0f5d9e02"},
	"ipv4":     {"192.0.2.1", "192.0.2.2"}, "ipv6": {"2001:db8::1", "2001:db8::2"}, "ip": {"192.0.2.1", "192.0.2.2"}, "cidr": {"192.0.2.0/24", "198.51.100.0/24"},
	"mac": {"00:00:5e:00:53:01", "00:00:5e:00:53:02"},
	"uri": {"https://example.com/", "https://example.com/other"}, "url": {"https://example.com/", "https://example.com/other"},
	"hostname": {"example.com", "www.example.com"}, "email": {"a@example.com", "b@example.com"},
	"byte":     {"Y29uZm9ybWFuY2U=", "Y2hhbmdlZA=="},
	"quantity": {"1", "2"},
	"semver":   {"1.0.0", "1.0.1"},
	"hexcolor": {"#ffffff", "#000000"}, "rgbcolor": {"rgb(1,1,1)", "rgb(2,2,2)"},
	"isbn": {"0306406152", "9780306406157"}, "isbn10": {"0306406152", "0201633612"}, "isbn13": {"9780306406157", "9780201633610"},
	"creditcard": {"4111111111111111", "5555555555554444"}, "ssn": {"078-05-1120", "219-09-9999"},
	"bsonobjectid": {"507f1f77bcf86cd799439011", "507f1f77bcf86cd799439012"},
}

// nameValues are for fields whose name says more than their schema.
var nameValues = map[string]string{
	"apiVersion": "v1", "kind": "ConfigMap", "uid": "8b1ff4a6-3a3c-4a0e-8d2b-1c1f0f5d9e01", "namespace": "default",
}

// candidates are tried where a pattern or a length has to fit, before one is made of the pattern.
var candidates = []string{
	plain, "changed", "a", "b", "A", "B", "1", "2", "a1", "b1", "A1", "B1", "v1", "v2", "example.com", "www.example.com", "example.com/a", "example.com/b",
	"https://example.com/", "https://example.com/other",
	"1.0.0", "1.0.1", "v1.0.0", "v1.0.1", "1m", "2m", "1h", "2h", "1Gi", "2Gi", "10%", "20%", "192.0.2.1", "192.0.2.2", "192.0.2.0/24", "198.51.100.0/24",
	"2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-01", "2026-01-02", "12:00", "13:00", "/", "/a", "/b", "a=b", "a:b",
	"a@example.com", "b@example.com", "* * * * *", "0 0 * * *", "#ffffff", "#000000",
}

// stringValue makes a string of a field.
func stringValue(name string, v *view) string {
	preferred := plain
	if value, ok := nameValues[name]; ok {
		preferred = value
	}
	if values, ok := formatValues[v.format()]; ok {
		preferred = values[0]
	} else if quantity(v) {
		preferred = "1"
	}
	return firstFitting(v, preferred, "")
}

// quantity tells that by how the library of Kubernetes publishes its quantities.
func quantity(v *view) bool {
	return v.any(func(n *node) bool { return strings.HasSuffix(n.ref, ".api.resource.Quantity") })
}

// firstFitting returns a string that a schema allows and that is not the one to avoid; the preferred one if there is no
// other.
func firstFitting(v *view, preferred, avoid string) string {
	if preferred != avoid && fits(v, preferred) {
		return preferred
	}
	texts := slices.Concat(made(v), candidates)
	if v.pattern() != "" { // What people would write comes first.
		texts = slices.Concat(candidates, made(v))
	}
	for _, text := range texts {
		if text != avoid && fits(v, text) {
			return text
		}
	}
	return preferred
}

// made returns strings made for the length and the pattern of a schema.
func made(v *view) []string {
	least := v.count(func(n *node) *float64 { return n.minLength })
	texts := []string{strings.Repeat("a", max(least, 1))}
	if most, ok := v.number(func(n *node) *float64 { return n.maxLength }); ok && most > 0 && most < float64(len(plain)) {
		texts = append(texts, plain[:int(most)])
	}
	pattern, err := syntax.Parse(v.pattern(), syntax.Perl)
	if v.pattern() == "" || err != nil {
		return texts
	}
	for _, more := range []int{0, 1, least} {
		for _, last := range []bool{false, true} {
			g := &generator{more: more, last: last}
			g.write(pattern.Simplify())
			texts = append(texts, g.text.String())
		}
	}
	return texts
}

// fits reports whether a schema allows a string, as far as its length and its pattern say.
func fits(v *view, text string) bool {
	length := float64(utf8.RuneCountInString(text))
	if least, ok := v.number(func(n *node) *float64 { return n.minLength }); ok && length < least {
		return false
	}
	if most, ok := v.number(func(n *node) *float64 { return n.maxLength }); ok && length > most {
		return false
	}
	for _, n := range v.parts {
		if n.matcher != nil && !n.matcher.MatchString(text) {
			return false
		}
	}
	return true
}

// generator writes a text that a regular expression matches, anchors and word boundaries aside.
type generator struct {
	text strings.Builder
	// more is how often what may be repeated is.
	more int
	// last tells to take the last of alternatives and characters, for another text.
	last bool
}

func (g *generator) write(pattern *syntax.Regexp) {
	if g.text.Len() > maxCount {
		return
	}
	switch pattern.Op {
	case syntax.OpLiteral:
		g.text.WriteString(string(pattern.Rune))
	case syntax.OpCharClass:
		g.text.WriteRune(g.character(pattern.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		g.text.WriteByte('a')
	case syntax.OpCapture, syntax.OpConcat:
		for _, part := range pattern.Sub {
			g.write(part)
		}
	case syntax.OpAlternate:
		if g.last {
			g.write(pattern.Sub[len(pattern.Sub)-1])
		} else {
			g.write(pattern.Sub[0])
		}
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest:
		g.repeat(pattern)
	default: // Matches nothing, or the empty string at some places.
	}
}

func (g *generator) repeat(pattern *syntax.Regexp) {
	count := g.more
	if pattern.Op == syntax.OpPlus {
		count = max(count, 1)
	} else if pattern.Op == syntax.OpQuest {
		count = min(count, 1)
	}
	for range count {
		g.write(pattern.Sub[0])
	}
}

// character returns one of a class, which is given as pairs of bounds: a letter or a digit if it has one.
func (g *generator) character(class []rune) rune {
	likely := "aA0bBzZ19"
	if g.last {
		likely = "9zZ1bB0aA"
	}
	for _, one := range likely + "-_./ " {
		for i := 0; i+1 < len(class); i += 2 {
			if class[i] <= one && one <= class[i+1] {
				return one
			}
		}
	}
	if len(class) == 0 {
		return 'a'
	}
	return class[0]
}
