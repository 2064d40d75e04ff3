// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/jsonpath"

	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestOnly(t *testing.T) {
	t.Parallel()
	const members = `,"a":{"b":[{"c":1,"d":2}],"c.d":3,"e":{"f":1.5,"g":null}},"b":"x\"]","c":[1,2],"d":{}}`
	for path, want := range map[string]string{
		`.a.b`:                  `{"a":{"b":[{"c":1,"d":2}]}}`,
		`.a['b']`:               `{"a":{"b":[{"c":1,"d":2}]}}`,
		`.a.b[0].c`:             `{"a":{"b":[{"c":1,"d":2}]}}`,
		`.a.b[?(@.c==1)].d`:     `{"a":{"b":[{"c":1,"d":2}]}}`,
		`.a.c\.d`:               `{"a":{"c.d":3}}`,
		`.a.e.g`:                `{"a":{"e":{"g":null}}}`,
		`.a.*`:                  `{"a":{"b":[{"c":1,"d":2}],"c.d":3,"e":{"f":1.5,"g":null}}}`,
		`.b`:                    `{"b":"x\"]"}`,
		`.b.c.d`:                `{"b":"x\"]"}`,
		`.metadata.labels['x']`: `{}`,
		`.d.x`:                  `{"d":{}}`,
		`..f`:                   `{` + members[1:],
		`.*`:                    `{` + members[1:],
		`[`:                     `{` + members[1:],
		`.b}{.c`:                `{` + members[1:],
	} {
		got, ok := Only([]byte(members), CompilePaths([]string{path}))
		if !ok || string(got) != want {
			t.Errorf("%s: %s, %t, want %s", path, got, ok, want)
		}
	}
	got, _ := Only([]byte(members), CompilePaths([]string{".a.e.f", ".c", ".a.e", ".a.e.g"}))
	testkit.NoDiff(t, cmp.Diff(`{"a":{"e":{"f":1.5,"g":null}},"c":[1,2]}`, string(got)), "several paths")
	for _, wrong := range []string{``, `{}`, `,`, `,"a":1`, `,"b":1,"a":2}`, `,"a":1,"a":2}`, `,"a": 1}`, `,"a":01}`, `,"a":tru}`, ",\"a\":\"\xff\"}", `,"a":"\q"}`, `,"a":1}}`, `,"a":[x]}`, `,"b":[1,x`} {
		if got, ok := Only([]byte(wrong), CompilePaths([]string{".a"})); ok {
			t.Errorf("%s: %s", wrong, got)
		}
	}
}

// FuzzOnly: expressions find in what is kept what they find in the whole.
func FuzzOnly(f *testing.F) {
	for _, s := range allSchemas(f) {
		random := rand.New(rand.NewPCG(5, 6))
		for range 10 {
			parts, _ := s.Normalize(randomObject(random, s, 0))
			f.Add(parts.Body, ".spec.settings.inner", ".results[0].policy")
			f.Add(parts.Body, ".status.conditions[?(@.type=='Ready')].status", ".summary['pass']")
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, one, other string) {
		if len(body) == 0 || body[0] != '{' {
			return
		}
		members := append([]byte(","), body[1:]...)
		if len(body) == len("{}") {
			members = members[1:]
		}
		kept, ok := Only(members, CompilePaths([]string{one, other}))
		whole, err := Parse(body)
		if !ok {
			if err == nil && !hasEscapedName(whole) && bytes.Equal(testkit.Must(appendCanonical(nil, whole))(t), body) && !bytes.Contains(body, []byte(`\u`)) {
				t.Fatalf("%s is canonical", body)
			}
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		part := testkit.Must(Parse(kept))(t)
		for _, path := range []string{one, other} {
			testkit.NoDiff(t, cmp.Diff(find(whole, path), find(part, path)), "%s in %s and in %s", path, body, kept)
		}
	})
}

// find returns what an expression finds, as text.
func find(in map[string]any, path string) string {
	expression := jsonpath.New("test").AllowMissingKeys(true)
	if expression.Parse("{"+path+"}") != nil {
		return ""
	}
	var out bytes.Buffer
	if err := expression.Execute(&out, in); err != nil {
		return "error"
	}
	return out.String()
}
