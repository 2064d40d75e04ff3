// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/egressselector"
)

const (
	// probeInterval is between two looks whether etcd is there.
	probeInterval = time.Second
	// probeTimeout is when etcd counts as away although it takes connections: longer than a busy disk makes it wait.
	probeTimeout = 5 * time.Second
	// dialInterval is between two attempts to connect.
	dialInterval = 200 * time.Millisecond
)

// errAway is the cause with which operations end when etcd goes away.
var errAway = errors.New("etcd is unavailable")

// presence tells operations whether etcd is there. Why: the library's client waits for etcd as long as the request may
// take, so clients would hang for a minute where they should hear to come again.
type presence struct {
	mu sync.Mutex
	// running has what ends each operation under way.
	running map[*context.CancelCauseFunc]struct{}
	// reason is why etcd is away; nil while it is there.
	reason error
}

func newPresence() *presence {
	return &presence{running: map[*context.CancelCauseFunc]struct{}{}}
}

// set notes the outcome of a probe, and reports whether it is news.
func (p *presence) set(err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	news := (p.reason == nil) != (err == nil)
	p.reason = err
	if err != nil {
		for end := range p.running {
			(*end)(errAway)
		}
	}
	return news
}

// away returns why etcd is away, nil while it is there.
func (p *presence) away() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// begin returns a context for an operation, which ends with errAway as its cause when etcd goes away, and a function to
// call at the end. An error says that etcd is away already.
func (p *presence) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason != nil {
		return nil, nil, p.reason
	}
	ctx, cancel := context.WithCancelCause(ctx)
	p.running[&cancel] = struct{}{}
	return ctx, func() {
		p.mu.Lock()
		delete(p.running, &cancel)
		p.mu.Unlock()
		cancel(nil)
	}, nil
}

// persistentDialer tries until it has a connection or ctx ends. Why: gRPC waits longer and longer after attempts that
// fail, up to two minutes, and so long etcd would still be away for this process after it came back.
func persistentDialer(egressselector.NetworkContext) (utilnet.DialFunc, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var dialer net.Dialer
		ticker := time.NewTicker(dialInterval)
		defer ticker.Stop()
		for {
			conn, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				return conn, nil
			}
			select {
			case <-ctx.Done():
				return nil, err
			case <-ticker.C:
			}
		}
	}, nil
}
