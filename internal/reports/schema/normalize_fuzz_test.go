// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/json"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// FuzzNormalize holds Normalize against the library: what it accepts must be what the
// library stores, and neither invalid nor reason for a warning.
func FuzzNormalize(f *testing.F) {
	all := testkit.Must(load())(f)
	kinds := slices.SortedFunc(maps.Keys(all), func(a, b schema.GroupVersionKind) int { return strings.Compare(a.Kind, b.Kind) })
	for i := range kinds {
		for _, seed := range seeds() {
			f.Add(uint(i), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint, data []byte) {
		s := all[kinds[kind%uint(len(kinds))]]
		parts, ok := s.Normalize(data)
		if !ok {
			return
		}
		var content map[string]any
		strict, err := json.UnmarshalStrict(data, &content)
		if err != nil || len(strict) > 0 {
			t.Fatalf("%s: the library can't read what Normalize accepts: %v %v", data, err, strict)
		}
		metadata, hasMetadata := content["metadata"]
		delete(content, "metadata") // Whose content Normalize leaves to others.
		_, unknown, err := s.Coerce(content, Options{WantUnknown: true})
		if err != nil || len(unknown) > 0 {
			t.Fatalf("%s: Normalize accepts what the library doesn't know: %v %v", data, err, unknown)
		}
		if errs := validateBody(s, content); len(errs) > 0 && parts.Valid {
			t.Fatalf("%s: Normalize accepts what is invalid: %v", data, errs)
		}
		want := testkit.Must(Canonical(content))(t)
		testkit.NoDiff(t, cmp.Diff(string(want), string(parts.Body)), "%s: the body (-library +normalized)", data)
		if _, isObject := metadata.(map[string]any); hasMetadata != (parts.Metadata != nil) || hasMetadata && !isObject {
			t.Errorf("%s: metadata %s", data, parts.Metadata)
		}
		for name, got := range map[string]string{"apiVersion": parts.APIVersion, "kind": parts.Kind} {
			if want, _ := content[name].(string); got != want {
				t.Errorf("%s: %s is %q, want %q", data, name, got, want)
			}
		}
		again, ok := s.Normalize(parts.Body)
		if !ok && !bytes.Contains(parts.Body, []byte(`\`)) || ok && !bytes.Equal(again.Body, parts.Body) {
			t.Errorf("%s: the normalized body normalizes to %s", parts.Body, again.Body)
		}
	})
}

func seeds() []string {
	return []string{
		`{}`,
		`{"apiVersion":"wgpolicyk8s.io/v1alpha2","kind":"PolicyReport","metadata":{"name":"a"},"results":[],"summary":{}}`,
		`{"summary":{"pass":1,"fail":0,"error":-0},"results":[{"result":"pass","policy":"","severity":"high"}],"scope":{"name":"a\u0041<"}}`,
		`{"results":[{"policy":"p","timestamp":{"seconds":1,"nanos":2147483647},"properties":{"b":"1","a":"é","c":null},"scored":true}]}`,
		`{"results":[{"policy":"p","resources":[{"kind":"Pod"},{}],"resourceSelector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"","operator":"","values":["x"]}]}}]}`,
		`{"spec":{"owner":{"apiVersion":"","kind":"","name":"","uid":"","controller":false},"results":null,"summary":{"skip":12}}}`,
		`{"configuration":{"limits":{"maxResults":10,"statusFilter":["pass","fail"]}},"source":"kyverno","scope":null}`,
		`{"results":[{"policy":"p","result":""}]}`,
		`{"results":[{"policy":"p","timestamp":{"seconds":1.0,"nanos":2147483648}}]}`,
		`{"summary":{"pass":1e3,"fail":1.5,"warn":9223372036854775808}}`,
		`{"results":[{"policy":"p","unknown":1}]} `,
		`{"results":[{"policy":"p","policy":"q"}]}`,
		"{\"source\":\"\xff\"}",
		`{"results":[null]}`,
		`{"results":[{"policy":"\ud800"}],"kind":"\u0041"}`,
		`{"metadata":null} {}`,
		`{"scopeSelector":{"matchExpressions":[{"key":"k","operator":"In","values":[null]}]}}`,
	}
}
