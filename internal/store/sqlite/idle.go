// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

// shrinkIdle lets connections that did nothing since the last call give back their pages and statements: what they need
// next is in the cache of the operating system. It waits for none: one that is taken is not idle.
func (e *Engine) shrinkIdle() {
	for _, p := range []*pool{&e.readers, &e.urgent, &e.questions} {
		for range p.count {
			select {
			case c := <-p.conns:
				if c != nil { // One that was never needed.
					c.shrink()
				}
				p.conns <- c
			default:
			}
		}
	}
	select {
	case w := <-e.writer:
		w.conn.shrink()
		e.writer <- w
	default:
	}
}

// shrink gives memory back unless the connection was used since the last call. An error is of no consequence: the
// next who uses the connection meets it.
func (c *conn) shrink() {
	used := c.used
	c.used = false
	if used || len(c.stmts) == 0 {
		return
	}
	_ = c.forget()
	_, _ = c.pragma("PRAGMA shrink_memory")
}
