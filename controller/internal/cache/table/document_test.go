// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestSortsLikeTheLibraryButACopy(t *testing.T) {
	t.Parallel()
	m := made{rand.New(rand.NewSource(1))}
	theirs, ours := functions(), functions()
	Protect(ours)
	sorted := 0
	for range 1000 {
		list := []any{}
		for range m.Intn(30) {
			list = append(list, map[string]any{"a": pick[any](m, "x", "y", "z"), "b": float64(m.Intn(3)), "c": m.value(0), "n": float64(m.Intn(1000))})
		}
		if m.Intn(5) == 0 && len(list) > 0 {
			delete(list[m.Intn(len(list))].(map[string]any), "a")
		}
		expression := pick(m, "sort_by(@, &a)", "sort_by(@, &b)", "sort_by(@, &c)", "sort_by(@, &to_upper(a))", "sort_by(@, &length(a))", "sort_by([].a, &@)")
		given := clone(t, list)
		got, err := plain(expression, given, ours)
		if !reflect.DeepEqual(given, any(list)) {
			t.Fatalf("%s has changed its argument", expression)
		}
		want, wantErr := plain(expression, clone(t, list), theirs)
		if (err != nil) != (wantErr != nil) || err != nil && err.Error() != wantErr.Error() {
			t.Fatalf("%s: %v, want %v", expression, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %v, want %v", expression, got, want)
		}
		if err == nil {
			sorted++
		}
	}
	if sorted < 300 {
		t.Errorf("only %d were sorted", sorted)
	}
}

func TestDocumentAnswers(t *testing.T) {
	t.Parallel()
	d := testkit.Must(NewDocument(newEngine(), []byte(` {"servers": [{"name": "b", "cpu": 4}, {"name": "a", "cpu": 2.5}], "own": "x"} `)))(t)
	for expression, want := range map[string]string{
		"":                                    `{"own":"x","servers":[{"cpu":4,"name":"b"},{"cpu":2.5,"name":"a"}]}`,
		"servers[].name":                      `["b","a"]`,
		"answer | servers[].name":             `["b","a"]`,
		"answer.servers[?cpu > `3`].name":     `["b"]`,
		"own":                                 `"x"`, // Also a name for the data.
		"sort_by(servers, &name)[].name":      `["a","b"]`,
		"servers[].name | [@, @]":             `[["b","a"],["b","a"]]`,
		"length(answer)":                      `2`,
		"servers[?answer].name":               `[]`,
		"sum(servers[].cpu)":                  `6.5`,
		"servers[0].answer || answer.own":     `"x"`,
		"{a: answer.own, b: servers[0].name}": `{"a":"x","b":"b"}`,
	} {
		first, err := d.Search(t.Context(), List, expression, "answer", "own")
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		if got := textOf(t, first); got != want {
			t.Errorf("%s: %s, want %s", expression, got, want)
		}
		if second, _ := d.Search(t.Context(), List, expression, "answer", "own"); !same(first, second) {
			t.Errorf("%s is computed twice", expression)
		}
	}
	if a, _ := d.Search(t.Context(), List, "random()"); a != float64(1) {
		t.Error(a)
	}
	if a, _ := d.Search(t.Context(), List, "random()"); a != float64(2) {
		t.Error("a random number is kept")
	}
	for _, expression := range []string{"nothing", "servers[", "length(own, own)"} {
		if _, err := d.Search(t.Context(), List, expression); err == nil || !strings.Contains(err.Error(), expression) {
			t.Errorf("%s: %v", expression, err)
		}
	}
	bytes := d.Bytes()
	d.Trim()
	d.Trim()
	if d.Bytes() >= bytes || d.Bytes() != d.bytes {
		t.Errorf("%d bytes, %d before", d.Bytes(), bytes)
	}
	d.engine.MaxResult = 40
	if _, err := d.Search(t.Context(), List, "servers"); err == nil || !strings.Contains(err.Error(), "larger than 40 bytes") {
		t.Error(err)
	}
	for _, text := range []string{"", "<html>", "{} {}", `{"a":`} {
		if _, err := NewDocument(newEngine(), []byte(text)); err == nil || !strings.Contains(err.Error(), "no JSON") {
			t.Errorf("%q: %v", text, err)
		}
	}
	list, err := NewDocument(newEngine(), []byte(`["a"]`))
	if err != nil {
		t.Fatal(err)
	}
	if value, err := list.Search(t.Context(), List, "answer[0]", "answer"); value != "a" || err != nil {
		t.Error(value, err)
	}
}
