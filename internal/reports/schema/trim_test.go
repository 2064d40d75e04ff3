// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestTrimmedIsJudgedAlike: nothing is a problem that the library accepts, and the other way round; and of a report
// that was trimmed the library says a part of what it says of the whole.
func TestTrimmedIsJudgedAlike(t *testing.T) {
	t.Parallel()
	all := testkit.Must(load())(t)
	random := rand.New(rand.NewPCG(1, 2))
	for kind, s := range all {
		for round := range 400 {
			content, ok := randomValue(random, s.root, []float64{0, 0.02, 0.3}[round%3], 0).(map[string]any)
			if !ok {
				continue
			}
			whole := s.judge(context.Background(), typed(s, content), nil)
			counter := trimmer{left: math.MaxInt}
			counter.object(s.root, content)
			if found := math.MaxInt - counter.left; found == 0 != (len(whole) == 0) || counter.trimmed {
				t.Fatalf("%s: %d problems, and the library says %v of %v", kind.Kind, found, whole, content)
			}
			few := trimmer{left: 2}
			part := s.judge(context.Background(), typed(s, few.object(s.root, content)), nil)
			if len(part) == 0 != (len(whole) == 0) {
				t.Fatalf("%s: %v is left of %v", kind.Kind, part, whole)
			}
			texts := describe(whole)
			for _, text := range describe(part) {
				if !slices.Contains(texts, text) {
					t.Fatalf("%s: %q is not among %q", kind.Kind, text, texts)
				}
			}
		}
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

// randomValue returns something for a part of a schema, and something else with a probability.
func randomValue(random *rand.Rand, n *node, wrong float64, depth int) any {
	if random.Float64() < wrong {
		return []any{"x", true, int64(7), int64(math.MaxInt64), 1.5, 1.0, 1e300, map[string]any{}, []any{}}[random.IntN(9)]
	}
	switch n.kind {
	case object:
		members := map[string]any{}
		for i := range n.members {
			if m := &n.members[i]; m.required && random.Float64() >= wrong || random.Float64() < 0.3 && depth < 6 {
				members[m.name] = randomValue(random, m.node, wrong, depth+1)
			}
		}
		for i := 0; n.others != nil && i < random.IntN(4); i++ {
			members[fmt.Sprint("other", i)] = randomValue(random, n.others.node, wrong, depth+1)
		}
		return members
	case array:
		items := make([]any, random.IntN(4))
		for i := range items {
			items[i] = randomValue(random, n.items, wrong, depth+1)
		}
		return items
	case text:
		if n.enum != nil {
			return strings.Trim(string(n.enum[random.IntN(len(n.enum))]), `"`)
		}
		return "text"
	case integer:
		return []any{int64(0), int64(-5), 2.0, int64(math.MaxInt32)}[random.IntN(4)]
	case boolean:
		return random.IntN(2) == 0
	case unknown, number, intOrString, anything: // No report has any.
	}
	return nil
}

// TestManyProblems: a report of which everything is wrong is refused in the time that it takes to read it.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	all := testkit.Must(load())(t)
	for kind, s := range all {
		if kind.Kind != "PolicyReport" {
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
	if s.strategies.namespaced {
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
