// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kyverno/go-jmespath"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// functions are some beside the library's.
func functions() *jmespath.FunctionCaller {
	caller := jmespath.NewFunctionCaller()
	text := []jmespath.ArgSpec{{Types: []jmespath.JpType{jmespath.JpString}}}
	caller.Register(jmespath.FunctionEntry{Name: "to_upper", Arguments: text, Handler: func(a []any) (any, error) {
		text, _ := a[0].(string)
		return strings.ToUpper(text), nil
	}})
	drawn := 0
	caller.Register(jmespath.FunctionEntry{Name: "random", Handler: func([]any) (any, error) {
		drawn++
		return float64(drawn), nil
	}})
	caller.Register(jmespath.FunctionEntry{Name: "maps", Handler: func([]any) (any, error) {
		return []map[string]any{{"a": "x"}}, nil
	}})
	return caller
}

func newEngine() *Engine { return NewEngine(functions(), "random") }

func mustPack(t testing.TB, object map[string]any) *Packed {
	t.Helper()
	return testkit.Must(Pack(&unstructured.Unstructured{Object: object}))(t)
}

// world is a table and what it should have.
type world struct {
	table   *Table
	objects map[string]map[string]any
	oracle  *jmespath.FunctionCaller
}

func newWorld() *world {
	oracle := functions()
	// What sorts in place would show to other parts of the same expression.
	Protect(oracle)
	return &world{
		table:   NewTable(newEngine(), Header{APIVersion: "v1", Kind: "Thing", Plural: "things"}),
		objects: map[string]map[string]any{}, oracle: oracle,
	}
}

func (w *world) put(t testing.TB, object map[string]any) {
	t.Helper()
	packed := mustPack(t, object)
	w.table.Put(packed)
	w.objects[packed.namespace+"/"+packed.name] = object
}

func (w *world) delete(namespace, name string) {
	w.table.Delete(namespace, name)
	delete(w.objects, namespace+"/"+name)
}

// setResourceVersion is what a list does that finds all as it was.
func setResourceVersion(t *Table, resourceVersion string) {
	var all []*Packed
	for _, chunk := range t.current.Load().chunks {
		all = append(all, chunk.objects...)
	}
	t.Replace(all, resourceVersion)
}

// data are the answer of an API server, decoded afresh.
func (w *world) data(t testing.TB, shape Shape) any {
	t.Helper()
	keys := make([]string, 0, len(w.objects))
	for key := range w.objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	items := []any{}
	for _, key := range keys {
		items = append(items, w.objects[key])
	}
	var data any = items
	if shape == List {
		data = map[string]any{
			"apiVersion": "v1", "kind": "ThingList", "items": items,
			"metadata": map[string]any{"resourceVersion": w.table.current.Load().resourceVersion},
		}
	}
	return clone(t, data)
}

func textOf(t testing.TB, value any) string {
	t.Helper()
	text := testkit.Must(json.Marshal(value))(t)
	return string(text)
}

func clone(t testing.TB, value any) any {
	t.Helper()
	var cloned any
	testkit.NoError(t, json.Unmarshal([]byte(textOf(t, value)), &cloned))
	return cloned
}

// check compares an answer with that of the library over all data.
func (w *world) check(t testing.TB, shape Shape, expression string) {
	t.Helper()
	got, err := w.table.Search(t.Context(), shape, expression)
	want, wantErr := plain(expression, w.data(t, shape), w.oracle)
	if errors.Is(wantErr, errPanic) {
		return // Whatever we say is better.
	}
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%s: error %v, want %v (%v)", expression, err, wantErr, want)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %s\nwant %s", expression, textOf(t, got), textOf(t, want))
	}
}

var errPanic = errors.New("panic")

// plain is what the library says; a panic is an error.
func plain(expression string, data any, caller *jmespath.FunctionCaller) (value any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = errPanic
		}
	}()
	return jmespath.Search(expression, data, jmespath.WithFunctionCaller(caller))
}

// made makes random objects and expressions out of few words, so that they meet.
type made struct{ *rand.Rand }

func pick[T any](m made, of ...T) T { return of[m.Intn(len(of))] }

func (m made) value(depth int) any {
	if depth == 0 {
		return pick[any](m, "x", "y", "", "x", float64(0), float64(1), true, nil)
	}
	switch m.Intn(6) {
	case 0:
		return m.value(0)
	case 1, 2:
		list := []any{}
		for range m.Intn(4) {
			list = append(list, m.value(depth-1))
		}
		return list
	default:
		object := map[string]any{}
		for _, key := range []string{"a", "b", "c"} {
			if m.Intn(3) > 0 {
				object[key] = m.value(depth - 1)
			}
		}
		return object
	}
}

// object has fields that mostly are what their names say, as those of a kind are.
func (m made) object(namespace, name string, wild bool) map[string]any {
	object := map[string]any{
		"apiVersion": "v1", "kind": "Thing",
		"metadata": map[string]any{
			"namespace": namespace, "name": name, "resourceVersion": fmt.Sprint(m.Intn(1e6)),
			"labels": map[string]any{"app": pick(m, "x", "y")},
		},
		"a": pick(m, "x", "y", "z"), "n": float64(m.Intn(3)),
		"one":  map[string]any{"only": pick(m, "x", "y")},
		"list": []any{},
	}
	rules := []any{}
	for range m.Intn(3) {
		rules = append(rules, map[string]any{"a": pick(m, "x", "y"), "b": m.value(1), "list": []any{m.value(0)}})
	}
	object["rules"] = rules
	object["list"] = []any{pick(m, "x", "y"), pick(m, "y", "z")}
	if wild {
		for range 3 {
			key := pick(m, "a", "n", "list", "rules", "b")
			if object[key] = m.value(3); m.Intn(4) == 0 {
				delete(object, key)
			}
		}
	}
	return object
}

func (m made) literal() string {
	return pick(m, "'x'", "'y'", "'z'", "''", "`0`", "`1`", "`true`", "`null`", "`\"x\"`", "`[]`", "`[\"x\",\"y\"]`", "`[1]`", "`{}`")
}

func (m made) path(depth int) string {
	switch m.Intn(16) {
	case 0:
		return "metadata.name"
	case 1:
		return "metadata.labels.app"
	case 2, 3:
		return "rules[].a"
	case 4:
		return "rules[*].b"
	case 5:
		return "one.*"
	case 6:
		return "@"
	case 7:
		return pick(m, "list[0]", "list[-1]", "list[:1]", "rules[0].a", "rules[].list[]", "rules[].list")
	}
	if depth > 0 {
		switch m.Intn(9) {
		case 0:
			return fmt.Sprintf("rules[?%s]", m.condition(depth-1))
		case 1:
			return fmt.Sprintf("rules[?%s].%s", m.condition(depth-1), pick(m, "a", "b", "list"))
		case 2:
			return fmt.Sprintf("{p: %s, q: %s}", m.path(depth-1), m.path(depth-1))
		case 3:
			return fmt.Sprintf("[%s, %s]", m.path(depth-1), m.path(depth-1))
		case 4:
			return fmt.Sprintf("(%s || %s)", m.path(depth-1), m.path(depth-1))
		case 5:
			return fmt.Sprintf("%s(%s)", pick(m, "to_string", "length", "to_upper", "type", "not_null", "sort", "to_array"), m.path(depth-1))
		case 6:
			return fmt.Sprintf("sort_by(%s, &%s)", pick(m, "rules", "list"), pick(m, "a", "@", "b"))
		}
	}
	return pick(m, "a", "b", "c", "n", "list", "rules", "one")
}

func (m made) condition(depth int) string {
	if depth > 0 {
		switch m.Intn(9) {
		case 0, 1:
			return fmt.Sprintf("%s && %s", m.condition(depth-1), m.condition(depth-1))
		case 2:
			return fmt.Sprintf("(%s || %s)", m.condition(depth-1), m.condition(depth-1))
		case 3:
			return fmt.Sprintf("!(%s)", m.condition(depth-1))
		case 4:
			return fmt.Sprintf("%s[?%s]", pick(m, "rules", "list", "rules[].list"), m.condition(depth-1))
		case 5:
			return fmt.Sprintf("length(%s[?%s]) %s `%d`", pick(m, "rules", "list"), m.condition(depth-1), pick(m, ">", ">=", "==", "<", "!="), m.Intn(2))
		}
	}
	switch m.Intn(9) {
	case 8:
		return m.path(depth)
	case 0:
		return fmt.Sprintf("contains(%s, %s)", m.path(depth), m.literal())
	case 1:
		return fmt.Sprintf("contains(%s, %s)", m.literal(), m.path(depth))
	case 2:
		return fmt.Sprintf("%s == %s", m.literal(), m.path(depth))
	case 3:
		return fmt.Sprintf("%s %s %s", m.path(depth), pick(m, "<", ">=", "!="), m.literal())
	default:
		return fmt.Sprintf("%s == %s", m.path(depth), m.literal())
	}
}

// expression begins with "BASE", which stands for the array of objects.
func (m made) expression() string {
	var text strings.Builder
	text.WriteString(pick(m, "BASE", "BASE", "BASE", "BASE[]", "BASE[*]", "things | BASE", "(BASE[])"))
	for range m.Intn(4) {
		switch m.Intn(9) {
		case 0, 1:
			fmt.Fprintf(&text, "[?%s]", m.condition(2))
		case 2:
			text.WriteString("[]")
		case 3:
			text.WriteString("[*]")
		case 4:
			fmt.Fprintf(&text, " | [?%s]", m.condition(1))
		case 5:
			fmt.Fprintf(&text, " | [].%s", pick(m, "a", "rules", "list", "[a, n]", "{q: a}"))
		default:
			path := m.path(1)
			if strings.ContainsAny(path[:1], "@(") {
				path = "a"
			}
			fmt.Fprintf(&text, "[*].%s", path)
		}
	}
	switch m.Intn(12) {
	case 0:
		return text.String() + " | " + pick(m, "[0]", "[-1]", "[:2]", "length(@)", "sort(@)", "sort_by(@, &a)", "@", "[]", "contains(@, 'x')", "[0].a")
	case 1:
		return fmt.Sprintf("%s || `[]` | length(@)", text.String())
	case 2:
		return fmt.Sprintf("{p: %s, q: %s}", text.String(), pick(m, "BASE", "length(BASE)", "BASE[].n", "@"))
	case 3:
		return fmt.Sprintf("%s(%s)", pick(m, "length", "to_string", "sort", "to_array", "reverse"), text.String())
	case 4:
		return fmt.Sprintf("(`false` && %s)", text.String())
	}
	return text.String()
}

func (m made) shaped() (Shape, string) {
	expression := m.expression()
	if m.Intn(2) == 0 {
		return List, strings.ReplaceAll(strings.ReplaceAll(expression, "things | ", ""), "BASE", "items")
	}
	return Array, strings.ReplaceAll(strings.ReplaceAll(expression, "things | ", ""), "BASE", "@")
}
