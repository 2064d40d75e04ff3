// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"time"
)

const (
	// waitPart is the part of its time that a request waits at most for a place.
	waitPart = 4
	// waitingEach is how many wait for each one that is evaluated.
	waitingEach = 4
)

// errOverload is that of a request that finds no place.
var errOverload = errors.New("too many requests are under evaluation")

// gate lets a bounded number of requests in, and a bounded number wait.
type gate struct {
	slots, waiting chan struct{}
}

func newGate(slots int) *gate {
	return &gate{slots: make(chan struct{}, slots), waiting: make(chan struct{}, waitingEach*slots)}
}

// enter returns once there is a place, or errOverload if that takes longer than limit.
func (g *gate) enter(ctx context.Context, limit time.Duration) error {
	select {
	case g.slots <- struct{}{}:
		return nil
	default:
	}
	select {
	case g.waiting <- struct{}{}:
		defer func() { <-g.waiting }()
	default:
		return errOverload
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case g.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return errOverload
	}
}

func (g *gate) leave() { <-g.slots }
