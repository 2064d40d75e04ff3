// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/json"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// FuzzNormalize holds Normalize against the library: what it accepts must be what the
// library stores, and no reason for a warning, and what it finds valid is valid.
func FuzzNormalize(f *testing.F) {
	all := allSchemas(f)
	for i := range all {
		for _, seed := range seeds() {
			f.Add(uint(i), []byte(seed))
		}
		random := rand.New(rand.NewPCG(3, uint64(i)))
		for range 20 {
			f.Add(uint(i), randomObject(random, all[i], 0.05))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint, data []byte) {
		s := all[kind%uint(len(all))]
		compareNormalized(t, s, data)
		compareStored(t, s, data)
	})
}

// TestNormalizeRandom does the same with what looks more like objects.
func TestNormalizeRandom(t *testing.T) {
	t.Parallel()
	for _, s := range allSchemas(t) {
		t.Run(s.Kind.Kind, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(1, 2))
			read, valid, stored := 0, 0, 0
			rounds := 600
			if testing.Short() {
				rounds = 100
			}
			for round := range rounds {
				data := randomObject(random, s, []float64{0, 0.01, 0.1}[round%3])
				parts, ok := compareNormalized(t, s, data)
				if ok {
					read++
				}
				if parts.Valid {
					valid++
				}
				if compareStored(t, s, data) {
					stored++
				}
			}
			t.Logf("of %d objects, %d were read, %d of them valid; of %d bodies, %d are as they are stored", rounds, read, valid, read, stored)
			if read < rounds/10 || s.Kind.Kind != "Ruled" && valid == 0 {
				t.Error("these are so few that the test says nothing")
			}
		})
	}
}

func compareNormalized(t *testing.T, s *Schema, data []byte) (Parts, bool) {
	t.Helper()
	parts, ok := s.Normalize(data)
	if !ok {
		return parts, false
	}
	var content map[string]any
	if parts.Metadata != nil {
		var metadata map[string]any
		if json.UnmarshalCaseSensitivePreserveInts(parts.Metadata, &metadata) != nil {
			return parts, true // Others find that out.
		}
	}
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
	want := testkit.Must(Canonical(content))(t)
	testkit.NoDiff(t, cmp.Diff(string(want), string(parts.Body)), "%s: the body (-library +normalized)", data)
	if errs := validateBody(s, content); len(errs) > 0 && parts.Valid {
		t.Fatalf("%s: Normalize accepts what is invalid: %v", data, errs)
	}
	if errs := validateBody(s, testkit.Must(Parse(parts.Body))(t)); len(errs) > 0 && parts.Valid {
		t.Fatalf("%s: as it is stored it is invalid: %v", data, errs)
	}
	if _, isObject := metadata.(map[string]any); hasMetadata != (parts.Metadata != nil) || hasMetadata && !isObject {
		t.Errorf("%s: metadata %s", data, parts.Metadata)
	}
	for name, got := range map[string]string{"apiVersion": parts.APIVersion, "kind": parts.Kind} {
		if want, _ := content[name].(string); got != want {
			t.Errorf("%s: %s is %q, want %q", data, name, got, want)
		}
	}
	again, ok := s.Normalize(parts.Body)
	if !ok && !bytes.Contains(parts.Body, []byte(`\`)) || ok && (!bytes.Equal(again.Body, parts.Body) || again.Valid != parts.Valid) {
		t.Errorf("%s: the normalized body normalizes to %s", parts.Body, again.Body)
	}
	return parts, true
}

// compareStored compares what Stored says of the body that the library makes of data, and of data itself.
func compareStored(t *testing.T, s *Schema, data []byte) (stored bool) {
	t.Helper()
	var content map[string]any
	if json.UnmarshalCaseSensitivePreserveInts(data, &content) != nil || content == nil {
		return false
	}
	delete(content, "metadata")
	if _, _, err := s.Coerce(content, Options{DropMalformed: true}); err != nil {
		return false
	}
	body := testkit.Must(Canonical(content))(t)
	for _, body := range [][]byte{body, data} {
		if stored = s.Stored(body); !stored {
			continue
		}
		content := testkit.Must(Parse(body))(t)
		if _, _, err := s.Coerce(content, Options{DropMalformed: true}); err != nil {
			t.Fatalf("%s is taken for stored: %v", body, err)
		}
		testkit.NoDiff(t, cmp.Diff(string(testkit.Must(Canonical(content))(t)), string(body)), "body (-as it is read +as it is stored)")
	}
	return s.Stored(body)
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
		`{"kind":"a","kind":"b"}`,
		`{"spec":{"a":null,"a":"b"},"metadata":{"a":1,"a":2}}`,
	}
}
