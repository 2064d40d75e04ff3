// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package aggregator

import (
	"context"
	"errors"
)

// errEnding is the cause of the end of streams that end with the server.
var errEnding = errors.New("the server is shutting down")

// Streams are the requests without a time limit: watches, logs, exec. They end with the
// server, since nobody else would end them.
type Streams struct {
	// atEnd calls a function when the server ends; takeBack undoes that.
	atEnd func(func()) (takeBack func() bool)
	end   func()
}

// NewStreams returns none.
func NewStreams() *Streams {
	ctx, end := context.WithCancel(context.Background()) // Ended by End.
	return &Streams{atEnd: func(f func()) func() bool { return context.AfterFunc(ctx, f) }, end: end}
}

// Add returns a context that ends with ctx and with End. The caller must call done when the stream
// has ended.
func (s *Streams) Add(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	takeBack := s.atEnd(func() { cancel(errEnding) })
	return ctx, func() {
		takeBack()
		cancel(nil)
	}
}

// End ends all streams; those that come later end at once.
func (s *Streams) End() { s.end() }
