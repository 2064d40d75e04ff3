// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"errors"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"sync"
)

const (
	// Most is how many there are at a time.
	Most = 1024
	// MostOfPeer is how many there are from one address, where each client has one of its own.
	MostOfPeer = 256
)

// Listener has a bounded number of connections. When there are too many, a new one replaces the least useful one:
// those that have never sent a whole request are closed first. Its handler must be one of [Count].
type Listener struct {
	net.Listener

	// Most is how many there are, and MostOfPeer how many from one address. Neither changes once connections are accepted.
	Most, MostOfPeer int
	// Closed is called for each connection that is closed for want of room; nil if nobody wants to know.
	Closed func()

	mu    sync.Mutex
	peers map[string]map[*connection]bool
	count int
	// began counts connections and requests: a clock on which no two events have the same time.
	began uint64
}

// Bound returns a listener with [Most] connections, and as many from one address as are given.
func Bound(listener net.Listener, mostOfPeer int) *Listener {
	return &Listener{Listener: listener, Most: Most, MostOfPeer: mostOfPeer, peers: map[string]map[*connection]bool{}}
}

// connection is one of them. The mutex of all guards it.
type connection struct {
	net.Conn

	all  *Listener
	peer string
	// used is when it had a whole request last, 0 for never; opened is when it came.
	used, opened uint64
	// requests are those that are being answered.
	requests int
}

// Accept closes connections for which there is no room.
func (c *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		next, displaced := c.take(conn)
		if displaced != nil {
			if c.Closed != nil {
				c.Closed()
			}
			_ = displaced.Close() // Nobody can be told.
		}
		if next != nil {
			return next, nil
		}
	}
}

// take returns the new connection, or nil if it is the one to close.
func (c *Listener) take(conn net.Conn) (next *connection, displaced net.Conn) {
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
func (c *Listener) crowded(peer string) iter.Seq[*connection] {
	switch {
	case len(c.peers[peer]) >= c.MostOfPeer:
		return maps.Keys(c.peers[peer])
	case c.count >= c.Most:
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
func (c *Listener) forget(conn *connection) {
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

// LocalAddr implements net.Conn. net/http puts it into the context of each request, by which [Count] finds the
// connection: also through TLS, and in servers that others make.
func (c *connection) LocalAddr() net.Addr { return address{c.Conn.LocalAddr(), c} }

// address is the server's address, with the connection.
type address struct {
	net.Addr

	connection *connection
}

func hostOf(address net.Addr) string {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	return host
}

// Count counts the requests of each connection, which is not closed for another one while a whole request is being
// answered.
func Count(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(address); ok {
			counted := &request{ReadCloser: r.Body, connection: local.connection}
			defer counted.answered()
			if r.ContentLength == 0 {
				counted.arrived()
			} else {
				r.Body = counted
			}
		}
		handler.ServeHTTP(w, r)
	})
}

// request is one with its body. The mutex of all connections guards it: handlers may read on in a goroutine of their
// own after they have returned.
type request struct {
	io.ReadCloser

	connection  *connection
	whole, over bool
}

// Read implements io.Reader.
func (r *request) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		r.arrived()
	}
	return n, err
}

// arrived is called when the request is there.
func (r *request) arrived() {
	all := r.connection.all
	all.mu.Lock()
	defer all.mu.Unlock()
	if r.whole || r.over {
		return
	}
	r.whole = true
	all.began++
	r.connection.used = all.began
	r.connection.requests++
}

func (r *request) answered() {
	r.connection.all.mu.Lock()
	defer r.connection.all.mu.Unlock()
	r.over = true
	if r.whole {
		r.connection.requests--
	}
}
