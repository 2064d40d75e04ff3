// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"time"
)

const (
	// waitPart is the divisor of the time limit of a request that gives how long it may wait for a slot.
	waitPart = 4
	// waitingEach is the number of requests that may wait for each slot.
	waitingEach = 4
)

// errOverload is the error of a request that gets no slot.
var errOverload = errors.New("too many requests are under evaluation")

// gate has slots for a bounded number of requests, and lets a bounded number wait for one.
type gate struct {
	slots, waiting chan struct{}
}

func newGate(slots int) *gate {
	return &gate{slots: make(chan struct{}, slots), waiting: make(chan struct{}, waitingEach*slots)}
}

// enter takes a slot. It returns errOverload if there is none within limit, or if too many wait.
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
