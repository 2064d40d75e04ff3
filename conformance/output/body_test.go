// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestPretty(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ body, want string }{
		"nothing":       {"", ""},
		"text":          {"{ok}, or: not", "{ok}, or: not"},
		"scalar":        {`"a,b"`, `"a,b"`},
		"object":        {`{"a":{"b":[1,true,null]},"c":"{,:\"\\"}`, "{\n  \"a\": {\n    \"b\": [\n      1,\n      true,\n      null\n    ]\n  },\n  \"c\": \"{,:\\\"\\\\\"\n}"},
		"empty":         {`[{}, [ ], { }]`, "[\n  {},\n  [],\n  {}\n]"},
		"cut":           {`{"a":[{"b":"c, d …`, "{\n  \"a\": [\n    {\n      \"b\": \"c, d …"},
		"cut outside":   {`{"a":[ …`, "{\n  \"a\": [\n    …"},
		"events":        {"ADDED {\"a\":1}\nDELETED {}", "ADDED {\"a\":1}\nDELETED {}"},
		"not the end …": {"<html> …", "<html> …"},
	} {
		testkit.NoDiff(t, cmp.Diff(test.want, pretty(test.body)), "%s (-want +got)", name)
	}
}

// FuzzPretty: valid JSON is broken into lines as the standard library does it.
func FuzzPretty(f *testing.F) {
	f.Add(`{"a":[1,{"b":"\"\\"},[],{ }]}`)
	f.Fuzz(func(t *testing.T, body string) {
		got := pretty(body)
		var want bytes.Buffer
		if json.Indent(&want, []byte(strings.TrimSpace(body)), "", "  ") == nil && got != want.String() {
			t.Errorf("%q, want %q", got, want.String())
		}
	})
}

func TestBodyLinesAreBounded(t *testing.T) {
	t.Parallel()
	many := bodyLines(widget(100), true)
	if len(many) != mostLines+1 || many[mostLines] != "… (84 more lines)" {
		t.Errorf("%d lines, the last one %q", len(many), many[len(many)-1])
	}
	if text := strings.Join(many, "\n"); !strings.Contains(text, "f:a") {
		t.Errorf("managedFields are missing where they matter:\n%s", text)
	}
	list := strings.Join(bodyLines(`{"kind":"List","items":[`+widget(30)+`]}`, false), "\n")
	if strings.Contains(list, "f:a") || !strings.Contains(list, "(1, not shown here)") {
		t.Errorf("managedFields take the place of what matters:\n%s", list)
	}
	if short := strings.Join(bodyLines(widget(1), false), "\n"); !strings.Contains(short, "f:a") {
		t.Errorf("managedFields are missing though there is room:\n%s", short)
	}
	if long := bodyLines(strings.Repeat("ä", mostColumns), false); len(long) != 1 || long[0] != strings.Repeat("ä", mostColumns/2)+cutMark {
		t.Errorf("a long line is %q", long)
	}
}
