// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// retryAfterSeconds is when a client should try again after a failure that is expected to pass.
const retryAfterSeconds = 1

// apiError turns an error of an operation into the one that a client gets. It leaves
// errors of other packages as they are.
func apiError(operation string, k kind, err error) error {
	code := codeOf(err)
	lost := passing(code) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errAway)
	switch {
	case err == nil:
		return nil
	case apierrors.IsTooManyRequests(err):
		// The watch cache has lost etcd, or never had it.
		return unavailable(operation)
	case code == codes.OK && !lost:
		return err
	case errors.Is(err, rpctypes.ErrNoSpace):
		return noSpace(operation)
	case errors.Is(err, rpctypes.ErrRequestTooLarge), code == codes.ResourceExhausted && strings.Contains(err.Error(), "larger than max"):
		return apierrors.NewRequestEntityTooLargeError(operation + ": the object is larger than etcd takes (its --max-request-bytes, 1.5 MiB by default)")
	case lost && k == write && !notSent(err):
		return apierrors.NewTimeoutError(operation+": the request ended or the connection to etcd was lost before the change was confirmed; "+
			"it may or may not have happened", 0)
	case errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError(operation+": etcd took too long", 0)
	case lost:
		return unavailable(operation)
	}
	return apierrors.NewInternalError(fmt.Errorf("%s: %w", operation, explained(err)))
}

// codeOf returns the code of an error of etcd or of the connection to it, and OK for errors of others.
func codeOf(err error) codes.Code {
	var ofEtcd rpctypes.EtcdError
	if errors.As(err, &ofEtcd) {
		return ofEtcd.Code()
	}
	if s, ok := status.FromError(err); ok {
		return s.Code()
	}
	return codes.OK
}

// passing tells of codes that come with an etcd that is away or overloaded. Unknown
// is how Kine passes on errors of its database.
func passing(code codes.Code) bool {
	switch code {
	case codes.Unavailable, codes.Unknown, codes.DeadlineExceeded, codes.Aborted, codes.ResourceExhausted:
		return true
	default:
		return false
	}
}

// notSent tells that etcd has not seen a request: it had no leader to give it to, or no connection could be made,
// neither to etcd nor by Kine to its database. For the latter there is no other sign than the text.
func notSent(err error) bool {
	text := err.Error()
	return errors.Is(err, rpctypes.ErrNoLeader) || strings.Contains(text, "Error while dialing") || strings.Contains(text, "connection refused")
}

// refused tells that etcd answers, but not to us: waiting doesn't help.
func refused(err error) bool {
	switch codeOf(err) {
	case codes.PermissionDenied, codes.Unauthenticated:
		return true
	case codes.InvalidArgument:
		return errors.Is(err, rpctypes.ErrUserEmpty)
	default:
		return false
	}
}

// explained adds to errors of etcd what to do about them.
func explained(err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrPermissionDenied):
		return fmt.Errorf("%w: etcd has authentication turned on; give a client certificate (cert=, key=) whose common name is a user with a role for the prefix", err)
	case strings.Contains(err.Error(), "first record does not look like a TLS handshake"):
		return fmt.Errorf("%w: this etcd does not use TLS; use etcd:// instead of etcds://", err)
	case strings.Contains(err.Error(), "error reading server preface"):
		return fmt.Errorf("%w: something else than etcd listens there, or etcd wants TLS: use etcds:// then", err)
	}
	return err
}

// checkKey: a database behind Kine can hold no other keys.
func checkKey(key string) error {
	if !utf8.ValidString(key) || strings.ContainsRune(key, 0) {
		return apierrors.NewBadRequest("names and namespaces must be UTF-8 text without zero bytes")
	}
	return nil
}

func unavailable(operation string) error {
	err := apierrors.NewServiceUnavailable(operation + ": etcd is not available at present")
	err.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	return err
}

func noSpace(operation string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInsufficientStorage, Reason: metav1.StatusReasonInternalError,
		Message: operation + ": etcd has no space left (NOSPACE alarm); compact and defragment it or raise its --quota-backend-bytes, " +
			"then disarm the alarm",
	}}
}
