// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"math"
	"slices"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// TestTermNumbersStayTheSame: databases have them.
func TestTermNumbersStayTheSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want int64 }{
		{0, 0, 0}, {1, 0, 6238073203771346441}, {1, 1, 6238073407549569176}, {1, 2, 6238073433545176766},
		{-5287524843006055295, -4439004132851512075, 6874463184011532700}, {math.MinInt64, math.MaxInt64, 2720858866067854605},
	} {
		got := termOf(c.name, c.value)
		if got != c.want {
			t.Errorf("the term %d, %d is %d, want %d", c.name, c.value, got, c.want)
		}
		if first, last := termsOfName(c.name); got < first || got > last {
			t.Errorf("the term %d, %d is %d, not from %d to %d", c.name, c.value, got, first, last)
		}
	}
}

func TestPackTerms(t *testing.T) {
	t.Parallel()
	terms := []engine.Term{{Name: 3, Value: 1}, {Name: 1, Value: 1}, {Name: 3, Value: 1}, {Name: 2, Value: -1}}
	want := []int64{termOf(3, 1), termOf(1, 1), termOf(2, -1)}
	slices.Sort(want)
	if got := unpackTerms(packTerms(terms)); !slices.Equal(got, want) {
		t.Errorf("terms %d, want %d", got, want)
	}
	if got := unpackTerms(nil); len(got) != 0 {
		t.Errorf("terms of nothing: %d", got)
	}
}
