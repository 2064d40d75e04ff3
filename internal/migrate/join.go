// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"fmt"
	"iter"
)

// entries of a side in the order of their keys, up to the first error.
type entries = iter.Seq2[*entry, error]

// join pairs the entries of two sides by key: each pair has one or both. It holds one
// entry of each side in memory. It fails when a side is out of order.
func join(a, b entries) iter.Seq2[[2]*entry, error] {
	return func(yield func([2]*entry, error) bool) {
		left, right := newCursor(a), newCursor(b)
		defer left.stop()
		defer right.stop()
		for {
			if err := left.err; err != nil {
				yield([2]*entry{}, err)
				return
			}
			if err := right.err; err != nil {
				yield([2]*entry{}, err)
				return
			}
			if left.at == nil && right.at == nil {
				return
			}
			var pair [2]*entry
			takeLeft := right.at == nil || left.at != nil && left.at.key() <= right.at.key()
			takeRight := left.at == nil || right.at != nil && right.at.key() <= left.at.key()
			if takeLeft {
				pair[0] = left.at
				left.advance()
			}
			if takeRight {
				pair[1] = right.at
				right.advance()
			}
			if !yield(pair, nil) {
				return
			}
		}
	}
}

// cursor reads entries one by one.
type cursor struct {
	next func() (*entry, error, bool)
	stop func()
	at   *entry
	err  error
}

func newCursor(all entries) *cursor {
	c := &cursor{}
	c.next, c.stop = iter.Pull2(all)
	c.advance()
	return c
}

func (c *cursor) advance() {
	before := c.at
	at, err, ok := c.next()
	c.at, c.err = at, err
	if !ok || err != nil {
		c.at = nil
		return
	}
	if before != nil && at.key() <= before.key() {
		c.at, c.err = nil, fmt.Errorf("a list is out of order: %s comes after %s", at.key(), before.key())
	}
}
