// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"context"
	"fmt"
)

const (
	// maxEvaluationBytes bounds what the expressions of one evaluation make, garbage included. It
	// is far more than honest policies need, and a fraction of what a process has.
	maxEvaluationBytes = 16 << 20
	// ValueBytes is what a value takes beside its text: a header and its place in a list.
	ValueBytes = 32
	// EntryBytes is what an entry of a map takes beside its key and its value.
	EntryBytes = 64
)

// Meter counts the bytes that the expressions of one evaluation make. Those that are about to make
// too many end; so do those that come after them. It is for one goroutine.
type Meter struct {
	used int64
	// during is the context of the evaluation.
	during context.Context //nolint:containedctx // It lives as long as the evaluation.
	// Spent is why there is nothing left.
	Spent error
}

// Take counts bytes before they are made, for the one who makes them.
func (m *Meter) Take(bytes int64, who string) error {
	if m.Spent != nil {
		return m.Spent
	}
	if bytes < 0 || bytes > maxEvaluationBytes-m.used {
		m.Spent = fmt.Errorf(
			"the expressions make more than %d MiB of data, the last of it with %s: let them work on less", maxEvaluationBytes>>20, who,
		)
		return m.Spent
	}
	m.used += bytes
	return nil
}

// left is how much can still be taken.
func (m *Meter) left() int64 {
	if m.Spent != nil {
		return 0
	}
	return maxEvaluationBytes - m.used
}

// Times multiplies sizes; more than any meter has is as good as infinite.
func Times(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	if a > 2*maxEvaluationBytes/b {
		return 2 * maxEvaluationBytes
	}
	return a * b
}

type meterKey struct{}

// With returns a context in which all evaluations of CEL share a meter.
func With(ctx context.Context) (context.Context, *Meter) {
	m := &Meter{during: ctx}
	return context.WithValue(ctx, meterKey{}, m), m
}

// meterIn returns the meter of a context, or a new one.
func meterIn(ctx context.Context) *Meter {
	if m, ok := ctx.Value(meterKey{}).(*Meter); ok {
		return m
	}
	return &Meter{}
}
