// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package crddiff

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// generator makes values of a schema. wild is how likely a value is one that the schema may not
// allow, from 0 to 1; common says that no value is to be at an edge.
type generator struct {
	*rand.Rand

	wild   float64
	common bool
	// left is about how many more values an object may have; then only what is required is added. tries is how often
	// parts may still be made again that came out invalid.
	left, tries int
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

const (
	// Objects are made again so often if they are invalid, each time smaller.
	objectTries = 12
	// partTries bounds the attempts for a part of an object, allTries those for all parts together.
	partTries, allTries = 6, 150
	// fewFields is how many a kind has if nearly all is below spec and status.
	fewFields = 5
)

// root returns an object of a kind without metadata. If nothing wild is wanted, it is valid, unless that is too hard.
func (g *generator) root(s *Schema) *Value {
	for try := 1; ; try++ {
		g.left, g.tries = pick(g, 10, 40, 150)/try, allTries
		v := g.object(s, 0)
		if g.wild > 0 || try == objectTries || s.accepts(dressed(v)) {
			return v
		}
	}
}

// part returns an object of a schema that need not be valid as a whole, such as one for a patch.
func (g *generator) part(s *Schema) *Value {
	g.left, g.tries = pick(g, 10, 40, 150), allTries
	return g.object(s, 0)
}

// dressed returns an object with what rules may ask for.
func dressed(v *Value) *Value {
	whole := Object("apiVersion", "example.com/v1", "kind", "Any", "metadata", Object("name", "any"))
	whole.members = append(whole.members, v.members...)
	return whole
}

// value returns a value of a schema, or now and then something else.
func (g *generator) value(s *Schema, depth int) *Value {
	g.left--
	if g.chance(g.wild) {
		return g.violation(s, depth)
	}
	v := g.typed(s, depth)
	for try := 1; g.wild == 0 && s.isIntricate() && try < partTries && g.tries > 0 && !s.accepts(v); try++ {
		g.tries--
		v = g.typed(s, depth)
	}
	return v
}

// typed returns a value of the type of a schema.
func (g *generator) typed(s *Schema, depth int) *Value {
	switch {
	case len(s.branches) > 0:
		return g.typed(pick(g, s.branches...), depth)
	case len(s.Enum) > 0:
		return Literal(string(pick(g, s.Enum...).Raw))
	case s.Nullable && g.chance(0.1):
		return Null()
	case s.XIntOrString:
		return pick(g, Literal(g.number(s)), g.text(s))
	}
	switch s.Type {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, depth)
	case "integer":
		return Literal(g.number(s))
	case "number":
		if s.Minimum != nil || s.Maximum != nil || s.MultipleOf != nil {
			return Literal(g.number(s))
		}
		return Literal(pick(g, "0", "1", "-1", "1.5", "1e3", "-0.0", "1e300", "5e-324"))
	case "boolean":
		return Literal(pick(g, "true", "false"))
	case "string":
		return g.text(s)
	case "":
		if s.XPreserveUnknownFields != nil && g.wild == 0 {
			return g.any(depth)
		}
	}
	return g.oddity(depth)
}

func (g *generator) object(s *Schema, depth int) *Value {
	v := Object()
	if s.XEmbeddedResource {
		g.embedded(v)
	}
	if s.values != nil {
		least, most := lengths(s.MinProperties, s.MaxProperties)
		for range max(least, min(most, g.IntN(4), g.left)) {
			v.Set(g.mapKey(), g.value(s.values, depth+1))
		}
	}
	density := pick(g, 0.1, 0.3, 0.6, 1)
	if depth == 0 && len(s.fields) <= fewFields {
		density = 0.9 // Or else many objects would be empty.
	}
	names := sortedKeys(s.fields)
	g.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		wanted := g.left > 0 && g.chance(density) && !s.without[name] && (!s.XEmbeddedResource || !isEnvelope(name))
		wanted = wanted || slices.Contains(s.Required, name) && !g.chance(g.wild) && v.Get(name) == nil
		if wanted && (depth > 0 || !isEnvelope(name)) {
			v.Add(name, g.value(s.fields[name], depth+1))
		}
	}
	if s.XPreserveUnknownFields != nil && g.left > 0 {
		for range g.IntN(3) {
			key := g.mapKey()
			if depth == 0 {
				key = pick(g, "spec", "status", key)
			}
			v.Set(key, g.tree(depth+1))
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

// embedded adds what an object within an object has to have.
func (g *generator) embedded(v *Value) {
	v.Set("apiVersion", String(pick(g, "v1", "apps/v1", "example.com/v1")))
	v.Set("kind", String(pick(g, "Pod", "Deployment", "Gadget")))
	if g.chance(0.7) {
		v.Set("metadata", Object("name", "embedded", "labels", Object("a", "b")))
		if g.chance(g.wild) {
			g.oddMetadata(v.Get("metadata"))
		}
	}
}

// isEnvelope tells the fields that all objects have, which are made elsewhere.
func isEnvelope(name string) bool {
	return name == "apiVersion" || name == "kind" || name == "metadata"
}

func (g *generator) array(s *Schema, depth int) *Value {
	v := Array()
	if s.items == nil {
		return v
	}
	least, most := lengths(s.MinItems, s.MaxItems)
	for range max(least, min(most, pick(g, 0, 1, 1, 2, 3), g.left)) {
		v.Append(g.value(s.items, depth+1))
	}
	if len(v.members) > 0 && g.chance(g.wild) {
		v.Append(pick(g, v.members...).value.Clone()) // Sets and maps don't allow that.
	}
	return v
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

// number returns a number between the bounds of a schema.
func (g *generator) number(s *Schema) string {
	if s.Minimum == nil && s.Maximum == nil && s.MultipleOf == nil {
		return g.integer(s.Format)
	}
	least, most, step := -100.0, 2000.0, 1.0
	if s.MultipleOf != nil {
		step = *s.MultipleOf
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		least, most = *s.Minimum, *s.Maximum
	case s.Minimum != nil:
		least, most = *s.Minimum, *s.Minimum+1000
	case s.Maximum != nil:
		least, most = *s.Maximum-1000, *s.Maximum
	}
	if s.ExclusiveMinimum {
		least += step
	}
	if s.ExclusiveMaximum {
		most -= step
	}
	value := pick(g, least, most, least+g.Float64()*min(most-least, 1000))
	value = math.Ceil(value/step) * step
	if value > most {
		value -= step
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

func (g *generator) integer(format string) string {
	switch {
	case g.chance(g.wild):
		return g.noInteger()
	case !g.common && g.chance(0.2):
		return pick(g, "1.0", "-0", "0.0", "1e3", "1E+2", "10e-1", "2147483647", "-2147483648", "9007199254740993", "9223372036854775807", "-9223372036854775808", "100.00")
	case !g.common && format != "int32" && g.chance(0.1):
		return pick(g, "2147483648", "4294967296", "1790000000")
	default:
		return strconv.Itoa(g.IntN(2000) - 100)
	}
}

// noInteger returns a number that is no whole one of 64 bits, or none at all.
func (g *generator) noInteger() string {
	// Custom resources store -0.0 first, and 0 when they write the object again.
	return pick(g, "-0.0", "1.5", "-0.5", "9223372036854775808", "-9223372036854775809", "1e19", "1e400", "18446744073709551616", "1e-400", "1E", "01", "+1", ".5", "1.")
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

// tree returns any value, which now and then is a deep one.
func (g *generator) tree(depth int) *Value {
	v := g.any(depth)
	if !g.common && g.chance(0.05) {
		for range pick(g, 20, 100) {
			v = pick(g, Array(v), Object("a", v))
		}
	}
	return v
}
