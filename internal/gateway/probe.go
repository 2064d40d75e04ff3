// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	probeTimeout = 5 * time.Second
	// probeLifetime is how long the result of a probe counts.
	probeLifetime = time.Second
	maxProbe      = 1 << 20
)

// probe finds out whether the cluster answers now: what the mirror knows is as old as its
// interval, and a cluster that hangs says nothing for longer still.
type probe struct {
	fetcher *fetcher
	clock   clock.PassiveClock

	mu  sync.Mutex // Held while the cluster is asked: everybody waits for the same answer.
	at  time.Time
	err error
}

// ready returns nil if the cluster answers, whatever the gateway may do there.
func (p *probe) ready(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.at.IsZero() && p.clock.Since(p.at) < probeLifetime {
		return p.err
	}
	// A client that gives up says nothing about the cluster.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTimeout)
	defer cancel()
	p.err = p.ask(ctx)
	p.at = p.clock.Now()
	return p.err
}

func (p *probe) ask(ctx context.Context) error {
	answer, err := p.fetcher.get(ctx, "/version", acceptJSON, "", maxProbe)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the cluster at %s does not answer within %s", p.fetcher.target.Host, probeTimeout)
	case err != nil:
		return fmt.Errorf("the cluster at %s does not answer: %w", p.fetcher.target.Host, err)
	case answer.status >= http.StatusInternalServerError:
		return fmt.Errorf("the cluster at %s answers with status %d", p.fetcher.target.Host, answer.status)
	}
	return nil
}
