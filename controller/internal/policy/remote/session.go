// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
)

// allSlots is more than the calls that go on at a time; a call that has all of them is alone.
const allSlots = 1 << 20

// session is a process from its start to its end.
type session struct {
	engine  *Engine
	process *process
	client  *rpc.Client
	version string
	// slots are those of calls that work with what users have written.
	slots *semaphore.Weighted
	// answers are the results of queries that the process knows.
	answers *answers

	mu sync.Mutex
	// sent are the lists of exceptions that the process has.
	sent map[uint64]bool
}

// start starts a process and waits until it can compile.
func (e *Engine) start(ctx context.Context) (*session, error) {
	limited, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	p, err := startProcess(ctx, &e.config)
	if err != nil {
		return nil, err
	}
	s := &session{engine: e, process: p, slots: semaphore.NewWeighted(allSlots), answers: newAnswers(e.config.Entries), sent: map[uint64]bool{}}
	if err := s.greet(limited); err != nil {
		p.end(0)
		return nil, err
	}
	return s, nil
}

// greet makes sure that the process is an engine, and tells it what to be.
func (s *session) greet(ctx context.Context) error {
	greeted := make(chan error, 1)
	go func() { greeted <- readHello(s.process.output) }()
	select {
	case err := <-greeted:
		if err != nil {
			return errors.Join(err, s.hint())
		}
	case <-ctx.Done():
		return fmt.Errorf("it has not said within %v that it is an engine", startLimit)
	}
	s.client = rpc.NewClient(sender{s.process.stream})
	var about About
	if err := s.call(ctx, "Setup", &Setup{Name: s.engine.config.Name, Settings: s.engine.config.Settings}, &about); err != nil {
		return fmt.Errorf("set it up: %w", err)
	}
	s.version = about.Version
	return nil
}

// hint returns how a process has ended, if it has ended by itself.
func (s *session) hint() error {
	timer := time.NewTimer(endGrace)
	defer timer.Stop()
	select {
	case <-s.process.exited:
		return s.process.cause()
	case <-timer.C:
		return nil
	}
}

// serve returns when the process has ended, does not answer, or ctx is done.
func (s *session) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	// The reads of both end with the process.
	all.Go(func() { s.answers.serve(ctx, s) })
	failed := make(chan error, 1)
	all.Go(func() { failed <- s.ping(ctx) })
	select {
	case <-s.process.exited:
		return s.process.cause()
	case err := <-failed:
		return s.fail(err)
	case <-ctx.Done():
		s.process.end(endGrace)
		return ctx.Err()
	}
}

// errSilent is the error of a process that does not answer.
var errSilent = errors.New("it does not answer, and is killed")

// fail ends a process after a ping that has failed. Calls that go on then fail, and know that they were under way.
func (s *session) fail(err error) error {
	if errors.Is(err, errSilent) {
		s.process.end(0)
		return err
	}
	s.process.end(endGrace) // Which says more about how it has ended.
	return s.process.cause()
}

// ping asks the process again and again whether it answers.
func (s *session) ping(ctx context.Context) error {
	config := &s.engine.config
	for sleep(ctx, config.pingInterval) {
		answered := make(chan error, 1)
		// A process that reads nothing more holds up whoever writes to it.
		go func() { answered <- s.call(ctx, "Ping", &Ping{Release: s.engine.takeReleased()}, &None{}) }()
		timer := time.NewTimer(config.answerLimit)
		var err error
		select {
		case err = <-answered:
		case <-timer.C:
			err = fmt.Errorf("%w: %v have passed", errSilent, config.answerLimit)
		case <-ctx.Done():
		}
		timer.Stop()
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// call makes a call. If ctx is done before, the process still answers it, and nobody cares.
func (s *session) call(ctx context.Context, method string, args, reply any) error {
	began := time.Now()
	call := s.client.Go(serviceName+"."+method, args, reply, make(chan *rpc.Call, 1))
	var err error
	select {
	case <-call.Done:
		err = call.Error
	case <-ctx.Done():
		err = ctx.Err()
	}
	observe(s.engine.config.Name, method, time.Since(began), err)
	return err
}

// told reports whether an error is one that the process has returned: all others but those of contexts mean that
// it has ended.
func told(err error) bool {
	var server rpc.ServerError
	return errors.As(err, &server)
}

// ended reports whether an error of a call means that the process has ended.
func ended(err error) bool {
	return err != nil && !told(err) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// unsent reports whether an error of a call means that the process has ended before it had the call.
func unsent(err error) bool { return errors.Is(err, rpc.ErrShutdown) || errors.Is(err, errUnsent) }

var errUnsent = errors.New("the engine reads nothing more")

// sender marks errors of writes.
type sender struct{ io.ReadWriteCloser }

// Write implements io.Writer.
func (s sender) Write(data []byte) (int, error) {
	n, err := s.ReadWriteCloser.Write(data)
	if err != nil {
		err = fmt.Errorf("%w: %w", errUnsent, err)
	}
	return n, err
}

// cancel tells the process that nobody waits for a call any more.
func (s *session) cancel(id uint64) {
	s.client.Go(serviceName+".Cancel", &Cancel{ID: id}, &None{}, make(chan *rpc.Call, 1))
}
