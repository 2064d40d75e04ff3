// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// What a cluster takes for the same.
const (
	// endpointDelay is the time from a pod's start or end until kube-proxy knows.
	endpointDelay = time.Second
	// probePeriod is the readiness probe's of deploy/.
	probePeriod = 2 * time.Second
)

// Balancer stands for a Service and what implements it in a cluster: it passes each
// new connection on to one of the replicas that are ready, and leaves connections
// alone afterwards.
type Balancer struct {
	// Port on loopback.
	Port int

	listener net.Listener
	ctx      context.Context //nolint:containedctx // Of its goroutines, ended by close.
	group    sync.WaitGroup

	mu       sync.Mutex // guards replicas
	replicas []*Replica // that get connections
}

// NewBalancer starts a balancer for replicas that are ready. It ends with the test.
func NewBalancer(t testing.TB, replicas ...*Replica) *Balancer {
	t.Helper()
	var listenConfig net.ListenConfig
	listener := testkit.Must(listenConfig.Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	ctx, cancel := context.WithCancel(context.Background())
	b := &Balancer{Port: listener.Addr().(*net.TCPAddr).Port, listener: listener, ctx: ctx, replicas: replicas} // TCP.
	b.group.Go(b.accept)
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		b.group.Wait()
	})
	return b
}

// Add gives new connections to a replica, too, as soon as a cluster would.
func (b *Balancer) Add(replica *Replica) {
	b.sleep(endpointDelay)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas = append(b.replicas, replica)
}

// Remove takes a replica out at once.
func (b *Balancer) Remove(replica *Replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replicas = slices.DeleteFunc(b.replicas, func(r *Replica) bool { return r == replica })
}

// Retire ends a replica as a cluster ends a pod: the signal comes at once, the
// balancer knows a moment later.
func (b *Balancer) Retire(t testing.TB, replica *Replica) {
	t.Helper()
	b.group.Go(func() {
		b.sleep(endpointDelay)
		b.Remove(replica)
	})
	replica.Stop(t)
}

// Crash kills a replica; the balancer knows when the readiness probe has failed.
func (b *Balancer) Crash(t testing.TB, replica *Replica) {
	t.Helper()
	b.group.Go(func() {
		b.sleep(probePeriod + endpointDelay)
		b.Remove(replica)
	})
	replica.Kill(t)
}

func (b *Balancer) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.ctx.Done():
	}
}

func (b *Balancer) accept() {
	for {
		client, err := b.listener.Accept()
		if err != nil {
			return // Closed.
		}
		b.group.Go(func() { b.serve(client) })
	}
}

// pick returns the address of any replica, "" if there is none.
func (b *Balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.replicas) == 0 {
		return ""
	}
	return b.replicas[rand.IntN(len(b.replicas))].Addr()
}

// serve passes a connection on. Where no replica takes it, the client is refused.
func (b *Balancer) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	var dialer net.Dialer
	server, err := dialer.DialContext(b.ctx, "tcp", b.pick())
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	stop := context.AfterFunc(b.ctx, func() { _ = errors.Join(client.Close(), server.Close()) })
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		copyHalf(server, client)
	}()
	copyHalf(client, server)
	<-done
}

// copyHalf copies one direction and passes its end on.
func copyHalf(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(*net.TCPConn); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	_ = errors.Join(to.Close(), from.Close()) // One end is gone: so is the other.
}
