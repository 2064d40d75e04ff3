// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// probeLifetime is how long the result of a probe of the upstream cluster counts.
	probeLifetime    = time.Second
	maxUpstreamProbe = 1 << 20
)

// upstreamProbe finds out whether the cluster answers now: what is known of its discovery is as
// old as the interval, and a cluster that hangs says nothing for longer still.
type upstreamProbe struct {
	fetcher *fetcher
	clock   clock.PassiveClock

	mu  sync.Mutex // Held while the cluster is asked: everybody waits for the same answer.
	at  time.Time
	err error
}

// ready returns nil if the cluster answers, whatever the aggregator may do there.
func (p *upstreamProbe) ready(ctx context.Context) error {
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

func (p *upstreamProbe) ask(ctx context.Context) error {
	answer, err := p.fetcher.get(ctx, "/version", acceptJSON, "", maxUpstreamProbe)
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
