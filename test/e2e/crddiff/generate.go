// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"math/rand/v2"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// generator makes values of a schema. wild is how likely a value is one that the schema may not
// allow, from 0 to 1; common says that no value is to be at an edge.
type generator struct {
	*rand.Rand

	wild   float64
	common bool
}

// newGenerator returns one whose values depend on the two numbers only.
func newGenerator(seed, number uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, number))}
	g.wild = pick(g, 0, 0, 0.01, 0.03, 0.1, 0.3)
	return g
}

// pick returns one of some values.
func pick[T any](g *generator, values ...T) T { return values[g.IntN(len(values))] }

func (g *generator) chance(probability float64) bool { return g.Float64() < probability }

// value returns a value of a schema, or now and then something else.
func (g *generator) value(schema *apiextensionsv1.JSONSchemaProps, depth int) *Value {
	if g.chance(g.wild) {
		return g.oddity(depth)
	}
	switch schema.Type {
	case "object":
		return g.object(schema, depth)
	case "array":
		return g.array(schema, depth)
	case "integer":
		return Literal(g.integer(schema.Format))
	case "number":
		return Literal(pick(g, "0", "1", "-1", "1.5", "1e3", "-0.0", "1e300", "5e-324"))
	case "boolean":
		return Literal(pick(g, "true", "false"))
	case "string":
		return g.text(schema)
	default:
		return g.oddity(depth)
	}
}

func (g *generator) object(schema *apiextensionsv1.JSONSchemaProps, depth int) *Value {
	v := Object()
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		for range g.IntN(4) {
			v.Add(g.mapKey(), g.value(schema.AdditionalProperties.Schema, depth+1))
		}
	}
	density := pick(g, 0.1, 0.3, 0.6, 1)
	for _, name := range sortedKeys(schema.Properties) {
		property := schema.Properties[name]
		wanted := g.chance(density)
		for _, required := range schema.Required {
			wanted = wanted || required == name && !g.chance(g.wild)
		}
		if wanted && (depth > 0 || !isEnvelope(name)) {
			v.Add(name, g.value(&property, depth+1))
		}
	}
	if g.chance(g.wild) {
		v.Add(pick(g, "unknown", "Unknown", "spec", "status", "", "a.b", "metadata", "x-y", "ünknown"), g.any(depth+1))
	}
	if len(v.members) > 0 && g.chance(g.wild/2) {
		twice := pick(g, v.members...)
		v.members = append(v.members, member{twice.key, pick(g, twice.value.Clone(), Null(), g.any(depth+1))})
	}
	return v
}

// isEnvelope tells the fields that all objects have, which are made elsewhere.
func isEnvelope(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata"
}

func (g *generator) array(schema *apiextensionsv1.JSONSchemaProps, depth int) *Value {
	v := Array()
	for range pick(g, 0, 1, 1, 2, 3) {
		v.Append(g.value(schema.Items.Schema, depth+1))
	}
	return v
}

func (g *generator) text(schema *apiextensionsv1.JSONSchemaProps) *Value {
	if len(schema.Enum) > 0 && !g.chance(g.wild) {
		return Literal(string(pick(g, schema.Enum...).Raw))
	}
	if schema.Format == "date-time" && !g.chance(g.wild) {
		return String(pick(g, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05+01:00"))
	}
	return Literal(g.string())
}

// string returns a string of JSON.
func (g *generator) string() string {
	if g.common || !g.chance(0.3) {
		return quote(pick(g, "a", "team-a", "Pod", "v1", "apps/v1", "some words", "In", "pass", "high", strconv.Itoa(g.IntN(100))))
	}
	if g.chance(g.wild) {
		// Halves of pairs, a bad escape, bytes that are no UTF-8, a control character as it is.
		return pick(g, `"\ud800"`, `"\udc00x"`, `"\x"`, "\"\xff\xfe\"", "\"\xc3\x28\"", "\"\x01\"", `"\u12"`)
	}
	return pick(g, `""`, `" "`, `"é"`, `"e\u0301"`, `"日本"`, `"😀"`, `"\ud83d\ude00"`, `"\u0000"`, `"\u2028"`, `"<b>&"`, `"\/"`, `"null"`, `"1"`,
		`"a\nb"`, `"\t"`, quote(strings.Repeat("long ", 60)), `"2026-01-02T03:04:05Z"`)
}

func (g *generator) mapKey() string {
	return pick(g, "a", "b", "c", "a", "app.kubernetes.io/name", "with space", "", "é", "A", strings.Repeat("k", 100))
}

func (g *generator) integer(format string) string {
	switch {
	case g.chance(g.wild):
		// Custom resources store -0.0 first, and 0 when they write the object again.
		return pick(g, "-0.0", "1.5", "-0.5", "9223372036854775808", "-9223372036854775809", "1e19", "1e400", "18446744073709551616", "1e-400", "1E", "01", "+1", ".5", "1.")
	case !g.common && g.chance(0.2):
		return pick(g, "1.0", "-0", "0.0", "1e3", "1E+2", "10e-1", "2147483647", "-2147483648", "9007199254740993", "9223372036854775807", "-9223372036854775808", "100.00")
	case !g.common && format != "int32" && g.chance(0.1):
		return pick(g, "2147483648", "4294967296", "1790000000")
	default:
		return strconv.Itoa(g.IntN(2000) - 100)
	}
}

// oddity returns a value that its schema is unlikely to allow.
func (g *generator) oddity(depth int) *Value {
	if g.chance(0.4) {
		return Null()
	}
	return g.any(depth)
}

// any returns any value at all.
func (g *generator) any(depth int) *Value {
	kinds := 7
	if depth > 6 {
		kinds = 5
	}
	switch g.IntN(kinds) {
	case 0:
		return Null()
	case 1:
		return Literal(pick(g, "true", "false"))
	case 2:
		return Literal(g.integer(""))
	case 3, 4:
		return Literal(g.string())
	case 5:
		v := Array()
		for range g.IntN(3) {
			v.Append(g.any(depth + 1))
		}
		return v
	default:
		v := Object()
		for range g.IntN(3) {
			v.Add(g.mapKey(), g.any(depth+1))
		}
		return v
	}
}
