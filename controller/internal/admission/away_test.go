// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
)

// endingPolicy is one whose engine ends during the first reviews.
type endingPolicy struct {
	policy.Apart

	ends, reviews int
}

func (p *endingPolicy) Identity() policy.Identity {
	return policy.Identity{Kind: "ClusterPolicy", Name: "p"}
}

func (p *endingPolicy) Await(context.Context) error { return nil }

func (p *endingPolicy) Review(context.Context, *policy.Request) ([]policy.Verdict, error) {
	if p.reviews++; p.reviews <= p.ends {
		return nil, &policy.AwayError{Engine: "e", Cause: errors.New("it has ended")}
	}
	return []policy.Verdict{{Deny: true}}, nil
}

// TestEngineEnds: a request is evaluated once more if the engine has ended meanwhile; if it ends once more, the policy
// has failed.
func TestEngineEnds(t *testing.T) {
	t.Parallel()
	for ends, fails := range map[int]bool{0: false, 1: false, 2: true, 3: true} {
		p := &endingPolicy{ends: ends}
		verdicts, err := ask(t.Context(), &candidate{Policy: p}, &policy.Request{}, time.Now())
		if (err != nil) != fails || !fails && len(verdicts) != 1 || p.reviews > maxAttempts {
			t.Errorf("it ends %d times: %v, %v after %d reviews", ends, verdicts, err, p.reviews)
		}
	}
}
