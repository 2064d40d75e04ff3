// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"sync"
)

const (
	// maxConnections is how many there are at a time, and maxConnectionsPeer how many from one address.
	// An API server has one or two.
	maxConnections, maxConnectionsPeer = 1024, 256
	// maxStreams is how many requests a connection has at a time.
	maxStreams = 100
	// receiveBuffer is how much a connection may send before it is read.
	receiveBuffer = 128 << 10
)

// connections is a listener with a bounded number of connections. When there are too many, a new one
// replaces the least useful one: those that have never sent a whole request are closed first.
type connections struct {
	net.Listener

	most, mostPeer int

	mu    sync.Mutex
	peers map[string]map[*connection]bool
	count int
	// began counts connections and requests: a clock on which no two events have the same time.
	began uint64
}

func bound(listener net.Listener) *connections {
	return &connections{Listener: listener, most: maxConnections, mostPeer: maxConnectionsPeer, peers: map[string]map[*connection]bool{}}
}

// connection is one of them. The mutex of all guards it.
type connection struct {
	net.Conn

	all  *connections
	peer string
	// used is when it had a whole request last, 0 for never; opened is when it came.
	used, opened uint64
	// requests are those that are being answered.
	requests int
}

// Accept closes connections for which there is no room.
func (c *connections) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		next, displaced := c.take(conn)
		if displaced != nil {
			connectionsClosed.Inc()
			_ = displaced.Close()
		}
		if next != nil {
			return next, nil
		}
	}
}

// take returns the new connection, or nil if it is the one to close.
func (c *connections) take(conn net.Conn) (next *connection, displaced net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	peer := hostOf(conn.RemoteAddr())
	if among := c.crowded(peer); among != nil {
		idle := leastUseful(among)
		if idle == nil {
			return nil, conn
		}
		c.forget(idle)
		displaced = idle.Conn
	}
	c.began++
	next = &connection{Conn: conn, all: c, peer: peer, opened: c.began}
	if c.peers[peer] == nil {
		c.peers[peer] = map[*connection]bool{}
	}
	c.peers[peer][next] = true
	c.count++
	return next, displaced
}

// crowded is called with the mutex. It returns those of which one has to go before another one of the
// peer comes; nil if there is room.
func (c *connections) crowded(peer string) iter.Seq[*connection] {
	switch {
	case len(c.peers[peer]) >= c.mostPeer:
		return maps.Keys(c.peers[peer])
	case c.count >= c.most:
		return func(yield func(*connection) bool) {
			for _, all := range c.peers {
				for conn := range all {
					if !yield(conn) {
						return
					}
				}
			}
		}
	}
	return nil
}

// leastUseful is called with the mutex; nil if requests of all are being answered.
func leastUseful(among iter.Seq[*connection]) (least *connection) {
	for conn := range among {
		if conn.requests == 0 && (least == nil || conn.used < least.used || conn.used == least.used && conn.opened < least.opened) {
			least = conn
		}
	}
	return least
}

// forget is called with the mutex.
func (c *connections) forget(conn *connection) {
	if !c.peers[conn.peer][conn] {
		return
	}
	delete(c.peers[conn.peer], conn)
	if len(c.peers[conn.peer]) == 0 {
		delete(c.peers, conn.peer)
	}
	c.count--
}

// Close makes room for another one.
func (c *connection) Close() error {
	c.all.mu.Lock()
	c.all.forget(c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// arrived is called when a request is there, answered when it has its answer.
func (c *connection) arrived() {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.all.began++
	c.used = c.all.began
	c.requests++
}

func (c *connection) answered() {
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.requests--
}

func hostOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	return host
}

// connectionKey is that of a request's connection in its context.
type connectionKey struct{}

// withConnection is for http.Server.ConnContext.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if over, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = over.NetConn() // That of TLS.
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// counting counts the requests of each connection.
func counting(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connectionKey{}).(*connection); ok {
			body := &watchedBody{ReadCloser: r.Body, connection: conn}
			r.Body = body
			defer body.answered()
		}
		handler.ServeHTTP(w, r)
	})
}

// watchedBody is the body of a request. The handler's goroutine alone uses it.
type watchedBody struct {
	io.ReadCloser

	connection *connection
	whole      bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.whole {
		b.whole = true
		b.connection.arrived()
	}
	return n, err
}

func (b *watchedBody) answered() {
	if b.whole {
		b.connection.answered()
	}
}
