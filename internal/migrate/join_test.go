// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"errors"
	"strings"
	"testing"
)

func TestJoin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b entries
		want string
		err  string
	}{
		"empty":        {listOf(), listOf(), "", ""},
		"alike":        {listOf("a", "b"), listOf("a", "b"), "a=a b=b", ""},
		"left longer":  {listOf("a", "b", "c"), listOf("b"), "a= b=b c=", ""},
		"right longer": {listOf("b"), listOf("a", "b", "c"), "=a b=b =c", ""},
		"out of order": {listOf("b", "a"), listOf("c"), "b=", "out of order"},
		"twice":        {listOf("a", "a"), listOf(), "a=", "out of order"},
		"left fails":   {listOf("a", "error"), listOf("b"), "a=", "broken"},
		"right fails":  {listOf("b"), listOf("error"), "", "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pairs []string
			var failure error
			for pair, err := range join(c.a, c.b) {
				if err != nil {
					failure = err
					break
				}
				text := ""
				if pair[0] != nil {
					text = pair[0].key()
				}
				text += "="
				if pair[1] != nil {
					text += pair[1].key()
				}
				pairs = append(pairs, text)
			}
			if got := strings.Join(pairs, " "); c.err == "" && (failure != nil || got != c.want) {
				t.Errorf("%q, %v; want %q", got, failure, c.want)
			}
			if c.err != "" && (failure == nil || !strings.Contains(failure.Error(), c.err)) {
				t.Errorf("%v, want %q", failure, c.err)
			}
		})
	}
}

// listOf returns entries with the given keys, all in one namespace.
func listOf(keys ...string) entries {
	return func(yield func(*entry, error) bool) {
		for _, key := range keys {
			if key == "error" {
				yield(nil, errors.New("broken"))
				return
			}
			if !yield(&entry{name: key}, nil) {
				return
			}
		}
	}
}
