// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"strings"
	"testing"

	"github.com/docket-project/docket/internal/store/engine"
)

// Identities are stored: these must never change.
func TestIdentitiesAreStable(t *testing.T) {
	t.Parallel()
	verdict := engine.Verdict{Source: "kyverno", Policy: "p", Result: "pass", Scored: true}
	if got, want := verdict.ID(), int64(-4375674098752505901); got != want {
		t.Errorf("verdict: %d, want %d", got, want)
	}
	subject := engine.Subject{APIVersion: "v1", Kind: "Pod", Namespace: "ns", Name: "web"}
	if got, want := subject.ID(), int64(-7271717353100877157); got != want {
		t.Errorf("subject: %d, want %d", got, want)
	}
}

// What moves from one field to the next makes another identity.
func TestIdentitiesDiffer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5000)
	seen := map[int64]engine.Verdict{}
	for _, v := range []engine.Verdict{
		{}, {Source: "ab"}, {Source: "a", Policy: "b"}, {Policy: "ab"}, {Policy: "a", Rule: "b"}, {Scored: true},
		{Message: long}, {Message: long + "x"}, {Properties: engine.JSON(long)},
	} {
		if other, ok := seen[v.ID()]; ok {
			t.Errorf("%+v and %+v have one identity", v, other)
		}
		seen[v.ID()] = v
	}
}
