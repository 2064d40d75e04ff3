// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kyverno/go-jmespath"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// thing is a small object.
func thing(namespace, name, host string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{"rules": []any{map[string]any{"host": host, "port": int64(80)}}, "ratio": 0.5},
	}
}

func search(t testing.TB, table *Table, shape Shape, expression string, aliases ...string) any {
	t.Helper()
	return testkit.Must(table.Search(t.Context(), shape, expression, aliases...))(t)
}

func searchText(t testing.TB, table *Table, shape Shape, expression string, aliases ...string) string {
	t.Helper()
	return textOf(t, search(t, table, shape, expression, aliases...))
}

func TestDataCanBeCalledByName(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.put(t, thing("b", "x", "h2"))
	w.put(t, thing("a", "y", "h1"))
	const hosts = `["h1","h2"]`
	for _, test := range []struct {
		shape            Shape
		expression, want string
	}{
		{List, "hosts | items[].spec.rules[].host", hosts},
		{List, "things | items[].spec.rules[].host", hosts},
		{List, "hosts.items[].spec.rules[].host", hosts},
		{List, "length(hosts.items)", "2"},
		{List, "hosts | things | items[*].spec.rules[0].host", hosts},
		{List, "{n: length(things.items), h: hosts.items[0].spec.rules[0].host}", `{"h":"h1","n":2}`},
		{List, "hosts.kind", `"ThingList"`},
		{List, "kind | length(@)", "9"}, // The data have that, whatever it is called.
		{List, "items[].hosts", "[]"},   // Not the data.
		{Array, "hosts[].spec.rules[].host", hosts},
		{Array, "things | [].spec.rules[].host", hosts},
		{Array, "[].spec.rules[].host", hosts},
		{Array, "things[0].metadata.name", `"y"`},
		{Array, "[-1].metadata.name", `"x"`},
		{Array, "[:1].metadata.name", `["y"]`},
		{Array, "@[?spec.rules[?port==`80`]] | length(@)", "2"},
		{Array, "other", "null"},
		{List, "items[?spec.ratio < `0.6` && spec.rules[0].port > `79`] | length(@)", "2"},
	} {
		if got := searchText(t, w.table, test.shape, test.expression, "hosts", "kind"); got != test.want {
			t.Errorf("%s: %s, want %s", test.expression, got, test.want)
		}
	}
	for _, shape := range []Shape{List, Array} {
		if got := search(t, w.table, shape, ""); !reflect.DeepEqual(got, w.data(t, shape)) {
			t.Errorf("no expression: %v", got)
		}
	}
}

// counting returns a table whose function seen counts what it is evaluated for.
func counting(t testing.TB) (*Table, *atomic.Int64) {
	t.Helper()
	seen := &atomic.Int64{}
	caller := functions()
	caller.Register(jmespath.FunctionEntry{
		Name: "seen", Arguments: []jmespath.ArgSpec{{Types: []jmespath.JpType{jmespath.JpAny}}},
		Handler: func(a []any) (any, error) { seen.Add(1); return a[0], nil },
	})
	table := NewTable(NewEngine(caller, "random"), Header{Kind: "Thing", Plural: "things"})
	for i := range 1000 {
		table.Put(mustPack(t, thing("s", fmt.Sprintf("n%04d", i), fmt.Sprintf("h%d", i))))
	}
	return table, seen
}

func TestOnlyWhatHasChangedIsEvaluatedAgain(t *testing.T) {
	t.Parallel()
	for _, expression := range []string{
		"items[].seen(spec.rules[0].host)",
		"items[?seen(metadata.name) != 'x'].spec.rules[].host",
		"items[*].seen(metadata.name) | length(@)",
		"items[].spec.rules[].seen(host) | sort(@)",
		"things.items[].seen(metadata.name)",
		"things | items[] | [*].seen(metadata.name)",
		"{a: items[].seen(metadata.name) | sort(@), b: length(@.items)}.a",
	} {
		table, seen := counting(t)
		expect := func(what string, want int64) {
			t.Helper()
			first := search(t, table, List, expression)
			if got := seen.Swap(0); got != want {
				t.Errorf("%s: %s: %d evaluations, want %d", expression, what, got, want)
			}
			second := search(t, table, List, expression)
			if got := seen.Swap(0); got != 0 || !same(first, second) {
				t.Errorf("%s: %s, again: %d evaluations, or not the same result", expression, what, got)
			}
		}
		expect("at first", 1000)
		table.Put(mustPack(t, thing("s", "n0500", "changed")))
		expect("a change", 1)
		table.Put(mustPack(t, thing("s", "n0500b", "new")))
		table.Put(mustPack(t, thing("a", "first", "new")))
		expect("two more", 2)
		table.Delete("s", "n0700")
		expect("a deletion", 0)
		setResourceVersion(table, "99")
		expect("nothing", 0)
		all := []*Packed{mustPack(t, thing("s", "other", "h"))}
		for i := range 900 {
			all = append(all, mustPack(t, thing("s", fmt.Sprintf("n%04d", i), fmt.Sprintf("h%d", i))))
		}
		table.Replace(all, "100")
		expect("another list", 3) // n0500 as it was, n0700 again, and other.
		table.Trim()
		expect("trimmed", 0)
		table.Trim()
		table.Trim()
		expect("trimmed when unused", 901)
	}
}

// same reports whether two results are one.
func same(a, b any) bool {
	listA, okA := a.([]any)
	listB, okB := b.([]any)
	if okA && okB && len(listA) > 0 && len(listA) == len(listB) {
		return &listA[0] == &listB[0]
	}
	return reflect.DeepEqual(a, b)
}

func TestIndexesFindCandidates(t *testing.T) {
	t.Parallel()
	for format, most := range map[string]int64{
		"items[?metadata.name=='n%04[1]d' && seen(metadata.name)=='n%04[1]d'].metadata.name | [0]":                            1,
		"items[?'n%04[1]d'==metadata.name && seen(kind)!='x'].metadata.name | [0]":                                            1,
		"items[?metadata.namespace=='s' && metadata.name=='n%04[1]d' && seen(kind)=='Thing'].metadata.name | [0]":             1,
		"items[?spec.rules[?host=='h%[1]d' && seen(port)==`80`]].metadata.name | [0]":                                         1,
		"items[?contains(spec.rules[].host, 'h%[1]d') && seen(kind)=='Thing'].metadata.name | [0]":                            1,
		"items[?length(spec.rules[?host=='h%[1]d' && seen(port)==`80`]) > `0`].metadata.name | [0]":                           1,
		"items[?contains(['n%04[1]d', 'nowhere'], metadata.name) && seen(kind)=='Thing'].metadata.name | [0]":                 1,
		"items[?contains(`[\"n%04[1]d\", \"nowhere\"]`, metadata.name) && seen(kind)=='Thing'].metadata.name | [0]":           1,
		"items[?(metadata.name=='n%04[1]d' || spec.rules[?host=='h%[1]d']) && seen(kind)=='Thing'].metadata.name | [0]":       1,
		"items[?to_string(metadata.name)=='n%04[1]d' && seen(kind)=='Thing'].metadata.name || `[]` | [0]":                     1,
		"items[] | [?metadata.name=='n%04[1]d' && seen(kind)=='Thing'].metadata.name | [0]":                                   1,
		"{x: items[*].metadata | [?name=='n%04[1]d'].seen(name) | [0]}.x":                                                     1,
		"items[?metadata.name=='n%04[1]d' && seen(kind)=='Thing' && spec.rules[?host=='h%[1]d']].[metadata.name] | [0] | [0]": 1,
	} {
		table, seen := counting(t)
		search(t, table, List, strings.ReplaceAll(fmt.Sprintf(format, 5000), "seen", "not_null"))
		for _, i := range []int{7, 999, 500} {
			expression := fmt.Sprintf(format, i)
			if got, want := search(t, table, List, expression), fmt.Sprintf("n%04d", i); got != want {
				t.Errorf("%s: %v", expression, got)
			}
			// The literal list with a comma is no literal to the parser.
			if got := seen.Swap(0); got > most && !strings.Contains(format, "(['") {
				t.Errorf("%s: %d evaluations", expression, got)
			}
		}
	}
}

func TestTheListHasItsResourceVersion(t *testing.T) {
	t.Parallel()
	table, _ := counting(t)
	for _, version := range []string{"7", "8"} {
		setResourceVersion(table, version)
		for _, expression := range []string{"metadata.resourceVersion", "things | metadata.resourceVersion", "@ | metadata.resourceVersion", "{a: metadata}.a.resourceVersion"} {
			if got := search(t, table, List, expression); got != version {
				t.Errorf("%s: %v, want %s", expression, got, version)
			}
		}
	}
	object := thing("s", "new", "h")
	object["metadata"].(map[string]any)["resourceVersion"] = "9"
	table.Put(mustPack(t, object))
	if got := search(t, table, List, "metadata.resourceVersion"); got != "9" {
		t.Errorf("%v after a change", got)
	}
}

func TestErrorsNameTheExpression(t *testing.T) {
	t.Parallel()
	table, _ := counting(t)
	for expression, want := range map[string]string{
		"items[":                                `expression "items[", position`,
		"items[?a=='x'":                         `expression "items[?a=='x'", position 13`,
		"a b":                                   `position 2`,
		"items[].#":                             `position 8`,
		"`{`":                                   "expression \"`{`\"",
		"items[].nothing(@)":                    `unknown function: nothing`,
		"length(kind, kind)":                    `expression "length(kind, kind)"`,
		"items[?contains(spec.n, 'x')]":         `Invalid type`,
		"nothing":                               `Unknown key "nothing"`,
		"items[].contains([@], @)":              "a function can't take its argument",
		"a|" + strings.Repeat("a|", 2000) + "a": "nested deeper than 1000",
		strings.Repeat("a", maxExpression+1):    "longer than",
		"items[99999999999999999999]":           "expression",
	} {
		for range 2 {
			_, err := table.Search(t.Context(), List, expression)
			if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
				t.Errorf("%.100s: %v, want %s", expression, err, want)
			}
		}
	}
	_, err := table.Search(t.Context(), List, "nothing")
	var missing jmespath.NotFoundError
	if !errors.As(err, &missing) {
		t.Errorf("the kind of the error is lost: %v", err)
	}
	e := newEngine()
	for i := range 5000 {
		testkit.Must(e.Compile(fmt.Sprintf("items[?metadata.name == 'n%d'].metadata.labels", i)))(t)
	}
	if bytes := e.compiled.cost; bytes > maxExpressions || bytes < maxExpressions/2 {
		t.Errorf("compiled expressions take %d bytes", bytes)
	}
	for expression, want := range map[string]string{
		"": "", "items[].to_upper(a)": "", "maps()": "", "merge()": "", "[].nothing(a)": "no function nothing", "a.": "position 2",
	} {
		err := e.Check(expression)
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", expression, err, want)
		}
	}
}

func TestImpureFunctionsAreCalledEachTime(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for i := range 3 {
		w.put(t, thing("s", fmt.Sprint(i), "h"))
	}
	for _, expression := range []string{"random()", "items[].random()", "items[?random() > `0`] | [random()]", "{a: items[].kind, b: random()}"} {
		if a, b := search(t, w.table, List, expression), search(t, w.table, List, expression); strings.Contains(expression, "?") {
			if len(a.([]any)) != 1 || reflect.DeepEqual(a, b) {
				t.Errorf("%s: %v, %v", expression, a, b)
			}
		} else if reflect.DeepEqual(a, b) {
			t.Errorf("%s: twice %v", expression, a)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	table, _ := counting(t)
	table.engine.MaxResult = 20000
	for expression, fits := range map[string]bool{
		"items": false, "": false, "length(items)": true, "items[].metadata.name": true,
		"items[].spec.rules[].host | [@, @, @, @]": false,
		"items[0]": true, "items[].to_string(@) | length(@)": true,
		"@ | [@,@,@,@] | [@,@,@,@] | [@,@,@,@] | [@,@,@,@] | [@,@,@,@] | [@,@,@,@] | [@,@,@,@] | [@,@,@,@] | [@,@,@,@] | [@,@,@,@] | [@,@,@,@] | [@,@,@,@]": false,
	} {
		_, err := table.Search(t.Context(), List, expression)
		if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "larger than 20000 bytes") {
			t.Errorf("%s: %v", expression, err)
		}
	}
}

func TestACanceledQuestionLeavesNoTrace(t *testing.T) {
	t.Parallel()
	table, _ := counting(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, expression := range []string{"items[].metadata.name", "items[?metadata.name=='n0007'].metadata.name", "@", "items[0].x"} {
		if _, err := table.Search(ctx, List, expression); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", expression, err)
		}
	}
	if got := searchText(t, table, List, "items[?metadata.name=='n0007'].metadata.name"); got != `["n0007"]` {
		t.Error(got)
	}
	if got := search(t, table, List, "items[].metadata.name | length(@)"); got != float64(1000) {
		t.Error(got)
	}
}

func TestNobodyChangesData(t *testing.T) {
	t.Parallel()
	m := made{rand.New(rand.NewSource(5))}
	w := newWorld()
	for i := range 30 {
		w.put(t, m.object(pick(m, "p", "q"), fmt.Sprint(i), i%2 == 0))
	}
	type kept struct {
		value any
		text  string
	}
	all := []kept{}
	for range 400 {
		shape, expression := m.shaped()
		for _, e := range []string{expression, "sort_by(" + expression + ", &@)", "[] | sort_by(@, &a)", "sort_by(`[\"b\",\"a\"]`, &@)"} {
			if value, err := w.table.Search(t.Context(), shape, e); err == nil {
				all = append(all, kept{value, textOf(t, value)})
			}
		}
	}
	for _, k := range all {
		if textOf(t, k.value) != k.text {
			t.Fatalf("%s has become %s", k.text, textOf(t, k.value))
		}
	}
	for _, shape := range []Shape{List, Array} {
		if !reflect.DeepEqual(search(t, w.table, shape, ""), w.data(t, shape)) {
			t.Fatal("the data are no longer what was put")
		}
	}
}

func TestReadersSeeWholeVersions(t *testing.T) {
	t.Parallel()
	table, _ := counting(t)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				value, err := table.Search(t.Context(), List,
					"[length(items), length(items[].metadata.name), length(items[*].spec.rules[].host), length(items[?metadata.name=='a' || metadata.name=='b'])]")
				counts, _ := value.([]any)
				// a and b come and go together, but one after the other.
				if err != nil || counts[0] != counts[1] || counts[0] != counts[2] || counts[0].(float64)-counts[3].(float64) != 1000 {
					t.Errorf("%v, %v", value, err)
					return
				}
				if _, err := table.Search(t.Context(), List, fmt.Sprintf("items[?starts_with(metadata.name, 'n%04d')]", i%2000)); err != nil {
					t.Error(err)
				}
				if i%50 == 0 {
					table.Trim()
					if table.Bytes() <= 0 {
						t.Error("it takes nothing")
					}
				}
			}
		})
	}
	for range 300 {
		for _, name := range []string{"a", "b"} {
			table.Put(mustPack(t, thing("s", name, "h")))
		}
		for _, name := range []string{"a", "b"} {
			table.Delete("s", name)
		}
	}
	close(done)
	readers.Wait()
}
