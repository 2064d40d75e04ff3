// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/reports/definition"
)

// reportSchemas returns the schemas of reports.
func reportSchemas(t testing.TB) []*Schema {
	t.Helper()
	var all []*Schema
	for _, crd := range testkit.Must(definition.Reports())(t) {
		all = append(all, testkit.Must(New(crd, crd.Spec.Versions[0].Name))(t))
	}
	return all
}

// allSchemas returns the built-in schemas and those of testdata, in order.
func allSchemas(t testing.TB) []*Schema {
	t.Helper()
	all := reportSchemas(t)
	for _, crd := range testkit.Must(definition.Read("testdata"))(t) {
		all = append(all, testkit.Must(New(crd, "v1"))(t))
	}
	slices.SortFunc(all, func(a, b *Schema) int { return strings.Compare(a.Kind.String(), b.Kind.String()) })
	return all
}

// writer writes random JSON for a part of a schema, and something else with a probability, in any form that JSON
// allows.
type writer struct {
	*rand.Rand
	bytes.Buffer

	wrong float64
	depth int
}

func (w *writer) one(texts ...string) { w.WriteString(texts[w.IntN(len(texts))]) }

func (w *writer) space() {
	if w.Float64() < w.wrong {
		w.one(" ", "\n", "\t", "\r\n")
	}
}

func (w *writer) value(s *structuralschema.Structural) {
	w.depth++
	defer func() { w.depth-- }()
	w.space()
	defer w.space()
	if s == nil || w.Float64() < w.wrong {
		w.any()
		return
	}
	if s.ValueValidation != nil && len(s.ValueValidation.Enum) > 0 && w.Float64() < 0.8 {
		if canonical, err := appendCanonical(nil, s.ValueValidation.Enum[w.IntN(len(s.ValueValidation.Enum))].Object); err == nil {
			w.Write(canonical)
		}
		return
	}
	switch s.Type {
	case "object":
		w.object(s)
	case "array":
		w.list('[', ']', w.IntN(4), func(int) { w.value(s.Items) })
	case "string":
		if s.ValueValidation != nil && s.ValueValidation.Format == "date-time" && w.IntN(4) > 0 {
			w.WriteString(`"2026-01-02T03:04:05.5Z"`)
			return
		}
		w.text()
	case "integer":
		w.integer()
	case "number":
		w.number()
	case "boolean":
		w.one("true", "false")
	default:
		if s.XIntOrString {
			w.one("1", "80", `"a"`, `"10Gi"`, `"x"`)
			return
		}
		if s.Items != nil && w.IntN(2) == 0 {
			w.list('[', ']', w.IntN(4), func(int) { w.value(s.Items) })
			return
		}
		if s.Properties != nil && w.IntN(2) == 0 {
			w.object(s)
			return
		}
		w.any()
	}
}

func (w *writer) text() {
	w.one(`"a"`, `"b"`, `"aab"`, `"abcd"`, `""`, `"é<"`, `"\u00e9\/\n"`, `"\u0041"`, `"2026-01-02T03:04:05Z"`, `"2026-01-02"`,
		`"10.0.0.1"`, `"YWI="`, `"3h"`, `"True"`, `"Ready"`, strconv.Quote(strings.Repeat("x", 50)))
}

func (w *writer) integer() {
	w.one("0", "1", "-1", "5", "7", "10", "100", "101", "2147483648", "9223372036854775807")
	if w.Float64() < w.wrong {
		w.one(".0", "e1", "0", "9999999999")
	}
}

func (w *writer) number() {
	w.integer()
	if w.IntN(3) == 0 {
		w.one(".5", ".25", ".10", "e30", "E-7", ".1e+2", "e400")
	}
}

func (w *writer) any() {
	switch w.IntN(8) {
	case 0, 1:
		w.text()
	case 2:
		w.number()
	case 3:
		w.one("true", "false")
	case 4:
		w.WriteString("null")
	case 5:
		w.one("-0", "-0.0", "1.0", "1e3", "01", "1.", ".5", "+1", "tru", "nul", `"\ud800"`, `"`, "\"\x01\"", "\"\xff\"", "[1,]", `{"a":1,}`)
	default:
		if w.depth > 5 {
			w.WriteString("{}")
		} else if w.IntN(2) == 0 {
			w.list('[', ']', w.IntN(3), func(int) { w.depth++; w.any(); w.depth-- })
		} else {
			w.list('{', '}', w.IntN(4), func(int) {
				w.one(`"a"`, `"b"`, `"c"`, `"metadata"`, `"\u0061"`)
				w.WriteByte(':')
				w.depth++
				w.any()
				w.depth--
			})
		}
	}
}

func (w *writer) list(open, end byte, count int, item func(int)) {
	w.WriteByte(open)
	for i := range count {
		if i > 0 {
			w.WriteByte(',')
		}
		item(i)
	}
	w.WriteByte(end)
}

func (w *writer) object(s *structuralschema.Structural) {
	var names []string
	for name := range s.Properties {
		required := s.ValueValidation != nil && slices.Contains(s.ValueValidation.Required, name)
		if chance := w.Float64(); required && chance >= w.wrong || !required && chance < 0.4 {
			names = append(names, name)
		}
	}
	if s.AdditionalProperties != nil || s.XPreserveUnknownFields || w.Float64() < w.wrong {
		for range w.IntN(3) {
			names = append(names, fmt.Sprint("other", w.IntN(4)), "unknown")
		}
		slices.Sort(names)
		if w.Float64() >= w.wrong {
			names = slices.Compact(names)
		}
	}
	slices.Sort(names)
	if w.IntN(2) == 0 {
		w.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	w.list('{', '}', len(names), func(i int) {
		w.space()
		w.Write(quote(names[i]))
		w.space()
		w.WriteByte(':')
		property, ok := s.Properties[names[i]]
		switch {
		case w.IntN(20) == 0:
			w.WriteString("null")
		case ok:
			w.value(&property)
		case s.AdditionalProperties != nil:
			w.value(s.AdditionalProperties.Structural)
		default:
			w.value(nil)
		}
	})
}

// randomObject returns an object of a schema, mostly with its type.
func randomObject(random *rand.Rand, s *Schema, wrong float64) []byte {
	w := &writer{Rand: random, wrong: wrong}
	w.object(s.Structural)
	data := w.Bytes()
	if len(data) > 2 && random.IntN(4) > 0 && s.Structural.Properties["kind"].Type == "" {
		version, kind := s.Kind.ToAPIVersionAndKind()
		data = append(fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q,"metadata":{"name":"abc"},`, version, kind), data[1:]...)
	}
	return data
}
