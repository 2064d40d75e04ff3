// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/docket-project/docket/internal/store/engine"
)

// SQLSTATE codes that mean something to the contract. The name of each is in appendix A of PostgreSQL's manual.
const (
	stateReadOnly       = "25006"
	statePrivilege      = "42501"
	stateDiskFull       = "53100"
	stateProgramLimit   = "54000"
	stateLockTimeout    = "55P03"
	stateCanceled       = "57014"
	stateIdleInTx       = "25P03"
	stateDeadlock       = "40P01"
	stateSerialization  = "40001"
	stateDataCorrupted  = "XX001"
	stateIndexCorrupted = "XX002"
)

// fail turns an error of the driver into one of the contract that says what was
// being done. The context is the caller's own, without the engine's deadline.
func (e *Engine) fail(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, errors.Join(context.Cause(ctx), unknownOutcome(err)))
	}
	if e.life.Err() != nil {
		return fmt.Errorf("%s: %w", what, errors.Join(engine.ErrClosed, unknownOutcome(err)))
	}
	return fmt.Errorf("%s: %w", what, classify(err))
}

// unknownOutcome keeps that class of an error and drops everything else.
func unknownOutcome(err error) error {
	if errors.Is(err, engine.ErrUnknownOutcome) {
		return engine.ErrUnknownOutcome
	}
	return nil
}

// classify wraps an error of the driver or the server with its class in the
// contract. Errors without one are defects and stay as they are.
func classify(err error) error {
	if err == nil || isClassified(err) {
		return err
	}
	class := classOf(err)
	if class == nil {
		return err
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) {
		// Its text has several lines, and the address in each.
		return &openError{class.Error() + ": " + brief(err), []error{class, err}}
	}
	return fmt.Errorf("%w: %w", class, err)
}

func isClassified(err error) bool {
	for _, class := range []error{
		engine.ErrCompacted, engine.ErrFuture, engine.ErrUnavailable, engine.ErrUnknownOutcome, engine.ErrFull,
		engine.ErrReadOnly, engine.ErrCorrupt, engine.ErrSchema, engine.ErrTooLarge, engine.ErrClosed,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

func classOf(err error) error {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		if isBroken(err) || errors.Is(err, context.DeadlineExceeded) {
			return engine.ErrUnavailable
		}
		return nil
	}
	switch server.Code {
	case stateReadOnly:
		return engine.ErrReadOnly
	case stateDiskFull:
		return engine.ErrFull
	case stateProgramLimit:
		return engine.ErrTooLarge
	case stateDataCorrupted, stateIndexCorrupted:
		return engine.ErrCorrupt
	case stateLockTimeout, stateCanceled, stateIdleInTx, stateDeadlock, stateSerialization:
		return engine.ErrUnavailable
	}
	switch server.Code[:2] {
	case "08", "28", "3D", "53", "57", "58":
		// Connection, authorization, no such database, resources, shutdown, I/O.
		return engine.ErrUnavailable
	}
	return nil
}

// isBroken reports whether the connection is gone or was never there, so that another attempt goes over another one.
func isBroken(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.As(err, &connect), errors.As(err, &network), pgconn.SafeToRetry(err):
		return true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return true
	}
	var server *pgconn.PgError
	// The server is going down, has crashed or is starting; or a pooler has lost it.
	return errors.As(err, &server) && (server.Code[:2] == "57" && server.Code != stateCanceled || isPoolers(server))
}

// isPoolers reports whether an error is a pooler's, about its connection to the server, and not the server's.
func isPoolers(err *pgconn.PgError) bool { return err.Code[:2] == "08" }

// isPermanent reports whether waiting can't make a first connection succeed: the
// server answered and refused, for a reason that only somebody can change.
func isPermanent(err error) bool {
	if errors.Is(err, engine.ErrReadOnly) || errors.Is(err, engine.ErrSchema) {
		return true
	}
	if errors.Is(err, engine.ErrUnavailable) {
		return isRefusal(err) || isInsecure(err)
	}
	class := classOf(err)
	return class == nil || !errors.Is(class, engine.ErrUnavailable) || isRefusal(err) || isInsecure(err)
}

// isInsecure reports whether all servers that were asked have no TLS, or not the certificate that sslmode demands.
func isInsecure(err error) bool {
	var connect *pgconn.ConnectError
	if !errors.As(err, &connect) {
		return false
	}
	attempts := []error{connect.Unwrap()}
	if several, ok := connect.Unwrap().(interface{ Unwrap() []error }); ok {
		attempts = several.Unwrap()
	}
	return !slices.ContainsFunc(attempts, func(err error) bool {
		return !strings.HasSuffix(err.Error(), "server refused TLS connection") && !errors.As(err, new(*tls.CertificateVerificationError))
	})
}

// isRefusal reports whether the server refused the user or knows no such database.
func isRefusal(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && (server.Code[:2] == "28" || server.Code[:2] == "3D")
}

func hasState(err error, state string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == state
}
