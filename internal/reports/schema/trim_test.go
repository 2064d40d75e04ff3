// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"
)

// TestTrimmedIsJudgedAlike: of an object that was trimmed the library says a part of what it says of the whole, and
// nothing only if it says nothing of the whole. In a report nothing else is a problem than what the library says.
func TestTrimmedIsJudgedAlike(t *testing.T) {
	t.Parallel()
	groups := []string{"openreports.io", "reports.kyverno.io", "wgpolicyk8s.io"}
	for _, s := range allSchemas(t) {
		random := rand.New(rand.NewPCG(1, 2))
		trimmed, rounds := 0, 300
		if testing.Short() {
			rounds = 60
		}
		for round := range rounds {
			var content map[string]any
			if json.UnmarshalCaseSensitivePreserveInts(randomObject(random, s, []float64{0, 0.02, 0.3}[round%3]), &content) != nil {
				continue
			}
			delete(content, "metadata")
			if _, _, err := s.Coerce(content, Options{DropMalformed: true}); err != nil {
				continue
			}
			content = typed(s, content)
			judge := func(by *strategies, content map[string]any) field.ErrorList {
				return by.judge(t.Context(), content, nil)
			}
			whole, part := judge(s.full, content), s.trimmed(1, content, nil, judge)
			if len(part) == 0 != (len(whole) == 0) {
				t.Fatalf("%s: %v is left of %v", s.Kind.Kind, part, whole)
			}
			if len(part) < len(whole) {
				trimmed++
			}
			texts := describe(whole)
			for _, text := range describe(part) {
				if !slices.Contains(texts, text) {
					t.Fatalf("%s: %q is not among %q", s.Kind.Kind, text, texts)
				}
			}
			if found := s.problems(content); slices.Contains(groups, s.Kind.Group) && found == 0 != (len(whole) == 0) {
				t.Fatalf("%s: %d problems, and the library says %v of %v", s.Kind.Kind, found, whole, content)
			}
		}
		t.Logf("%s: %d were trimmed", s.Kind.Kind, trimmed)
	}
}

// describe leaves values out: those of lists are shorter.
func describe(errs field.ErrorList) []string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, fmt.Sprintf("%s %s", err.Type, err.Field))
	}
	return texts
}

// TestManyProblems: a report of which everything is wrong is refused in the time that it takes to read it.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	for _, s := range reportSchemas(t) {
		if s.Kind.Kind != "PolicyReport" {
			continue
		}
		results := make([]any, 40_000)
		for i := range results {
			results[i] = map[string]any{}
		}
		started := time.Now()
		errs := validateBody(s, map[string]any{"results": results})
		t.Logf("%d errors after %s", len(errs), time.Since(started))
		if len(errs) != maxProblems {
			t.Errorf("%d errors, want those of %d results", len(errs), maxProblems)
		}
		last := errs[len(errs)-1].Field
		if last != fmt.Sprintf("results[%d].policy", maxProblems-1) {
			t.Errorf("the last error is about %s", last)
		}
	}
}

// typed returns an object with the type of a schema, and metadata that are right.
func typed(s *Schema, content map[string]any) map[string]any {
	object := maps.Clone(content)
	metadata := map[string]any{"name": "abc"}
	if s.full.namespaced {
		metadata["namespace"] = "a"
	}
	object["metadata"] = metadata
	object["apiVersion"], object["kind"] = s.Kind.ToAPIVersionAndKind()
	return object
}

// validateBody validates an object whatever type it states.
func validateBody(s *Schema, content map[string]any) field.ErrorList {
	return s.Validate(context.Background(), typed(s, content), nil)
}
