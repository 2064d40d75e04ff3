// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Wait returns when etcd answers, as [Open] waits for it, and leaves nothing behind.
func Wait(ctx context.Context, options Options) error {
	client, err := newClient(options.Transport)
	if err != nil {
		return err
	}
	s := &Store{options: options, client: client, presence: newPresence(), probeKey: options.probeKey()}
	return errors.Join(s.wait(ctx), s.Close())
}

// wait returns when etcd has answered, or is not going to.
func (s *Store) wait(ctx context.Context) error {
	caller := ctx
	if s.options.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.options.ConnectTimeout)
		defer cancel()
	}
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	var last error
	for {
		err := s.probe(ctx)
		if err == nil || refused(err) {
			return err
		}
		if last == nil || ctx.Err() == nil {
			last = err // And not that time was up in the middle of an attempt.
		}
		s.tell(ctx, last)
		select {
		case <-ctx.Done():
			return s.gaveUp(caller, last)
		case <-ticker.C:
		}
	}
}

// tell says that an attempt has failed, and how long there will be others.
func (s *Store) tell(ctx context.Context, err error) {
	if s.options.Waiting == nil || ctx.Err() != nil {
		return
	}
	left := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	s.options.Waiting(brief(err), left)
}

func (s *Store) gaveUp(caller context.Context, last error) error {
	where := "open etcd at " + strings.Join(s.options.Transport.ServerList, ", ")
	if caller.Err() != nil {
		return &interruptedError{where + ": interrupted while waiting for it: " + brief(last), context.Cause(caller)}
	}
	return fmt.Errorf("%s: no answer within %s: %s; start etcd there, or correct the address", where, s.options.ConnectTimeout, brief(last))
}

// interruptedError is the end of a context in words of its own.
type interruptedError struct {
	text  string
	cause error
}

// Error implements error.
func (e *interruptedError) Error() string { return e.text }

// Unwrap returns the cause of the end.
func (e *interruptedError) Unwrap() error { return e.cause }

// noise is what the library for calls puts around the cause of an error.
var noise = regexp.MustCompile(`etcd doesn't answer: |rpc error: code = \w+ desc = |connection error: desc = |"transport: |Error while dialing: |dial tcp \S+ |connect: |"`)

// brief is the cause of a failed attempt in a few words. The library has no types for failures of a connection.
func brief(err error) string {
	return strings.TrimSpace(noise.ReplaceAllString(err.Error(), ""))
}
