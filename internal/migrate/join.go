// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
)

// entries are the objects of one side in the order of their keys, up to the first error.
type entries = iter.Seq2[*entry, error]

// page is one page of a list.
type page struct {
	entries []*entry
	// version is the resource version of the list.
	version string
	// next is the continue token of the next page; empty on the last one.
	next string
	// remaining is the number of entries on later pages; nil if the side doesn't know.
	remaining *int64
}

// pages walks a list: read returns the page for a continue token. Unless version is nil,
// it receives the resource version of the first page. A list that can't be walked to its end is an error,
// because an object that is missing from a list may be deleted at the destination.
func pages(read func(token string) (page, error), version *string) entries {
	return func(yield func(*entry, error) bool) {
		for token, first := "", true; first || token != ""; first = false {
			p, err := read(token)
			switch {
			case err != nil:
			case p.next == "" && p.remaining != nil && *p.remaining > 0:
				err = fmt.Errorf("the list ends although it has %d more objects", *p.remaining)
			case p.next != "" && p.next == token:
				err = errors.New("the list doesn't advance: two pages have the same continue token")
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if first && version != nil {
				*version = p.version
			}
			for _, e := range p.entries {
				if !yield(e, nil) {
					return
				}
			}
			token = p.next
		}
	}
}

// pair is an object on both sides; nil where a side doesn't have it.
type pair struct{ from, to *entry }

// either returns the object of a side that has it.
func (p pair) either() *entry {
	if p.from != nil {
		return p.from
	}
	return p.to
}

// join pairs the entries of two sides by key. It holds one entry of each side in memory,
// and fails if a side is out of order.
func join(from, to entries) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		left, right := newCursor(from), newCursor(to)
		defer left.stop()
		defer right.stop()
		for {
			if err := cmp.Or(left.err, right.err); err != nil {
				yield(pair{}, err)
				return
			}
			if left.at == nil && right.at == nil {
				return
			}
			var p pair
			takeLeft := right.at == nil || left.at != nil && left.at.key() <= right.at.key()
			takeRight := left.at == nil || right.at != nil && right.at.key() <= left.at.key()
			if takeLeft {
				p.from = left.at
				left.advance()
			}
			if takeRight {
				p.to = right.at
				right.advance()
			}
			if !yield(p, nil) {
				return
			}
		}
	}
}

// cursor reads entries one by one.
type cursor struct {
	next func() (*entry, error, bool)
	stop func()
	// at is the current entry; nil at the end, and after an error.
	at  *entry
	err error
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
