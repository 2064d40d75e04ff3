// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"context"
	"crypto/sha256"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/cache/table"
	"github.com/docket-project/docket/controller/internal/policy/call"
)

const (
	// minRetry and maxRetry bound the time until a call that failed is made again.
	minRetry, maxRetry = time.Second, time.Minute
	// jitter is by what part of it a pause is longer at most: replicas don't ask in step.
	jitter = 0.1
)

// Calls returns what calls have in common: those that policies make themselves follow it as well.
func (c *Cache) Calls() call.Config { return c.config.calls() }

// poll has a dataset filled by its call, again and again, until the worker is stopped.
func (d *dataset) poll(ctx context.Context) objects.Worker {
	ctx, cancel := context.WithCancel(ctx)
	p := &poller{dataset: d, cancel: cancel}
	p.ended.Go(func() { p.run(ctx) })
	return p
}

// poller is the worker of a call.
type poller struct {
	dataset *dataset
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	tried   atomic.Bool
	// last is the hash of the last answer.
	last [sha256.Size]byte
}

// Decided implements worker: an error of a call is an answer.
func (p *poller) Decided() bool { return p.tried.Load() }

// Stop implements worker.
func (p *poller) Stop() {
	p.cancel()
	p.ended.Wait()
}

func (p *poller) run(ctx context.Context) {
	interval := p.dataset.origin.interval
	retry := minRetry
	timer := p.dataset.cache.config.Clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C():
		}
		err := p.once(ctx)
		pause := interval
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			p.failed(ctx, err)
			pause = min(retry, interval)
			retry = min(2*retry, maxRetry)
		default:
			retry = minRetry
		}
		p.tried.Store(true)
		timer.Reset(pause + time.Duration(rand.Float64()*jitter*float64(pause)))
	}
}

func (p *poller) failed(ctx context.Context, err error) {
	if p.dataset.state.Load().err == nil {
		klog.FromContext(ctx).Error(err, "A call of the context cache failed; will retry", "call", p.dataset.title)
	}
	p.dataset.cache.config.Metrics.failures.WithLabelValues(reasonOf(err)).Inc()
	p.dataset.cache.config.Metrics.refreshes.WithLabelValues(kindCall, resultFailure).Inc()
	p.dataset.attempted(err)
}

func (p *poller) once(ctx context.Context) error {
	answer, err := p.dataset.cache.client.Do(ctx, *p.dataset.origin.call)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(answer)
	before := p.dataset.state.Load()
	if before.phase == loaded && sum == p.last {
		p.succeeded(before.data) // Its results stay.
		return nil
	}
	document, err := table.NewDocument(p.dataset.cache.config.Engine, answer)
	if err != nil {
		return err
	}
	p.last = sum
	p.succeeded(document)
	if before.phase == loaded {
		p.dataset.cache.changes.note(p.dataset, table.Content)
	}
	return nil
}

func (p *poller) succeeded(answer data) {
	p.dataset.cache.config.Metrics.refreshes.WithLabelValues(kindCall, resultSuccess).Inc()
	p.dataset.refresh(answer)
}
