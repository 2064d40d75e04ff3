// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/docket-project/docket/internal/store/engine"
)

// urgentReaders are connections for engine.Urgent: the state, and the events that watches wait for.
const urgentReaders = 2

// questioners are connections for questions about results, which may take long.
const questioners = 2

// pool holds connections, which are tokens: who takes one out may use it and puts it back.
type pool struct {
	conns chan *conn
	// count is how many there are, inside and outside.
	count int
}

// open makes the connections of a pool.
func (p *pool) open(options Options, count int) error {
	p.conns = make(chan *conn, count)
	for range count {
		c, err := connectReader(options)
		if err != nil {
			return err
		}
		p.conns <- c
		p.count++
	}
	return nil
}

// promise makes room for connections that are opened when they are needed.
func (p *pool) promise(count int) {
	p.conns = make(chan *conn, count)
	for range count {
		p.conns <- nil
	}
	p.count = count
}

// close waits for the connections, and closes them.
func (p *pool) close() error {
	var errs []error
	for range p.count {
		if c := <-p.conns; c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}

// connections are tokens: who takes one out of its channel may use it and puts it back. Lock order: questions before
// writer before readers before urgent.
type connections struct {
	writer                     chan *writer
	hasWriter                  bool
	readers, urgent, questions pool
	// closing is closed first by Close.
	closing chan struct{}
}

// holdQuestions keeps new questions out until release is called, and waits for those that run, but not long: what they
// read stays in the log, and nobody but questions waits for questions.
func (s *connections) holdQuestions(patience time.Duration) (release func()) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	var held []*conn
	for range s.questions.count {
		select {
		case c := <-s.questions.conns:
			held = append(held, c)
			continue
		case <-timeout.C:
		case <-s.closing:
		}
		break
	}
	return func() {
		for _, c := range held {
			s.questions.conns <- c
		}
	}
}

// pool returns the connections that a call may use.
func (s *connections) pool(ctx context.Context) *pool {
	if engine.IsUrgent(ctx) {
		return &s.urgent
	}
	return &s.readers
}

// holdReaders takes all connections that read, but those of questions. Release puts them back, also those that were
// taken before an error.
func (s *connections) holdReaders(ctx context.Context) (release func(), err error) {
	var held []func()
	release = func() {
		for _, put := range held {
			put()
		}
	}
	for _, p := range []*pool{&s.readers, &s.urgent} {
		for range p.count {
			select {
			case c := <-p.conns:
				held = append(held, func() { p.conns <- c })
			case <-ctx.Done():
				return release, context.Cause(ctx)
			case <-s.closing:
				return release, engine.ErrClosed
			}
		}
	}
	return release, nil
}
