// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/docket-project/docket/internal/store/engine"
)

// Wait returns when the server answers, as [Open] waits for it, and leaves nothing behind.
func Wait(ctx context.Context, options Options) error {
	config, err := options.connConfig()
	if err != nil {
		return err
	}
	return options.retry(ctx, config, func(ctx, _ context.Context) error {
		conn, err := pgx.ConnectConfig(ctx, config.Copy())
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
}

// retry makes attempts while the server is unavailable, until ConnectTimeout or ctx ends. What an attempt does with a
// server that has answered, and what may take long, it does with patient, which ends only with the caller's.
func (o *Options) retry(ctx context.Context, config *pgx.ConnConfig, attempt func(ctx, patient context.Context) error) error {
	caller := ctx
	if o.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.ConnectTimeout)
		defer cancel()
	}
	wait := openBackoff
	var last error
	for {
		err := attempt(ctx, caller)
		if err == nil {
			return nil
		}
		if caller.Err() == nil && ctx.Err() == nil && isPermanent(err) {
			return o.refused(config, err)
		}
		if last == nil || !timedOut(err) {
			last = err // And not that time was up in the middle of an attempt.
		}
		o.tell(ctx, last)
		if pause(ctx, wait) != nil {
			return o.gaveUp(caller, config, last)
		}
		wait = min(2*wait, openBackoffMax)
	}
}

// tell reports that an attempt has failed, and for how long there will be more.
func (o *Options) tell(ctx context.Context, err error) {
	if o.Waiting == nil || ctx.Err() != nil {
		return
	}
	left := time.Duration(0)
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	o.Waiting(brief(err), left)
}

// openError is an error of opening a database in plain words. What the driver says is for errors.As.
type openError struct {
	text   string
	causes []error
}

// Error implements error.
func (e *openError) Error() string { return e.text }

// Unwrap returns the classes and the error of the driver.
func (e *openError) Unwrap() []error { return e.causes }

func (o *Options) gaveUp(caller context.Context, config *pgx.ConnConfig, err error) error {
	text, causes := "open database "+address(config)+": ", []error{engine.ErrUnavailable, err}
	if caller.Err() != nil {
		return &openError{text + "interrupted while waiting for it: " + brief(err), append(causes, context.Cause(caller))}
	}
	return &openError{text + "no answer within " + o.ConnectTimeout.String() + ": " + brief(err) +
		"; start PostgreSQL there, or correct the address", causes}
}

// refused explains the error of a server that answers, and will keep refusing.
func (o *Options) refused(config *pgx.ConnConfig, err error) error {
	text := "open database " + address(config) + ": "
	if isInsecure(err) {
		return &openError{text + brief(err) + "; turn TLS on there (ssl = on), or correct sslmode and sslrootcert in the URL", []error{engine.ErrUnavailable, err}}
	}
	var server *pgconn.PgError
	if !isRefusal(err) || !errors.As(err, &server) {
		classified := classify(err)
		return &openError{text + classified.Error(), []error{classified}}
	}
	remedy := "; correct the user and the password, or pg_hba.conf of the server"
	if server.Code[:2] == "3D" {
		remedy = "; create it, or correct its name"
	}
	return &openError{text + server.Message + remedy, []error{engine.ErrUnavailable, err}}
}

func timedOut(err error) bool {
	return pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded)
}

// brief is the cause of a failed attempt in a few words: the driver's own text repeats the
// address, and has a line for each attempt.
func brief(err error) string {
	var server *pgconn.PgError
	var errno syscall.Errno
	var dns *net.DNSError
	var plain *openError
	switch {
	case errors.As(err, &plain):
		return plain.text
	case errors.As(err, &server):
		return server.Message
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &dns):
		return dns.Err + " (" + dns.Name + ")"
	case timedOut(err):
		return "no answer in time"
	}
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if _, cause, found := strings.Cut(last, "): "); found {
		return cause
	}
	return last
}
