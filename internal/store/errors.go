// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/writer"
)

// retryAfterSeconds is when a client should try again after a failure that is expected to pass.
const retryAfterSeconds = 1

const (
	expiredWatch    = "The resourceVersion for the provided watch is too old."
	expiredList     = "The resourceVersion for the provided list is too old."
	expiredContinue = "The provided continue parameter is too old to display a consistent list result. " +
		"Start a new list without it, or use the continue token in this response to get the rest of the objects as they are now: " +
		"objects that changed since the first page may then be missing, or be listed in another state."
)

// APIError turns an error of an engine into the one that a client gets who asked for operation, as the store does.
// It leaves errors of other packages as they are.
func APIError(operation string, err error) error { return apiError(operation, err) }

// apiError turns an error of an engine into the one that a client gets. The text of the database's own error goes to
// the log with the request, not to the client. It leaves errors of other packages as they are.
func apiError(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errGuarded):
		return failure(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, operation+": the reports are being migrated; nothing was written, try again", retryAfterSeconds)
	case errors.Is(err, engine.ErrUnknownOutcome):
		return apierrors.NewTimeoutError(operation+": the request ended or the connection to the database was lost before the change was confirmed; "+
			"it may or may not have happened", 0)
	case errors.Is(err, engine.ErrFull):
		return failure(http.StatusInsufficientStorage, metav1.StatusReasonInternalError, operation+": the database has no space left: writes and deletes fail until it has more: its disk, or max_bytes of SQLite", 0)
	case errors.Is(err, engine.ErrTooLarge):
		return apierrors.NewRequestEntityTooLargeError(operation + ": the object is larger than the database can store")
	case errors.Is(err, engine.ErrReadOnly):
		return failure(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, operation+": the database is read-only at present", retryAfterSeconds)
	case errors.Is(err, engine.ErrCorrupt):
		return apierrors.NewInternalError(fmt.Errorf("%s: the database is damaged; see the server's log", operation))
	case errors.Is(err, engine.ErrUnavailable), errors.Is(err, engine.ErrClosed), errors.Is(err, writer.ErrStopped):
		return failure(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, operation+": the database is not available at present", retryAfterSeconds)
	case errors.As(err, new(*engine.CostlyError)), errors.As(err, new(*engine.CrowdedError)):
		return apierrors.NewBadRequest(fmt.Sprintf("%s: %v", operation, err))
	case errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError(operation+": the database took too long", 0)
	}
	return err
}

func failure(code int32, reason metav1.StatusReason, message string, retryAfter int32) error {
	status := metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
	if retryAfter > 0 {
		status.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfter}
	}
	return &apierrors.StatusError{ErrStatus: status}
}

// listError turns an error of Engine.List into the one that a client gets.
// continueKey is where a list in pages was to go on, "" for other lists.
func listError(err error, withRevision engine.Revision, current engine.Revision, continueKey, keyPrefix string) error {
	switch {
	case errors.Is(err, engine.ErrFuture):
		return storage.NewTooLargeResourceVersionError(uint64(withRevision), uint64(current), retryAfterSeconds)
	case errors.Is(err, engine.ErrCompacted):
		if continueKey == "" {
			return apierrors.NewResourceExpired(expiredList)
		}
		return continueExpired(continueKey, keyPrefix)
	}
	return apiError("list", err)
}

// continueExpired is the 410 for a page whose revision is no longer in history. Its token continues at the newest
// revision (-1), as Kubernetes defines it.
func continueExpired(continueKey, keyPrefix string) error {
	err := apierrors.NewResourceExpired(expiredContinue)
	token, encodeErr := storage.EncodeContinue(continueKey, keyPrefix, -1)
	if encodeErr == nil {
		err.ErrStatus.ListMeta.Continue = token
	}
	return err
}

// watchError turns an error into the status that ends a watch.
func watchError(err error) metav1.Status {
	if errors.Is(err, engine.ErrCompacted) {
		err = apierrors.NewResourceExpired(expiredWatch)
	}
	var deleted *corruptDeletedError
	if errors.As(err, &deleted) {
		return metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Reason: metav1.StatusReasonStoreReadError, Message: deleted.Error(),
		}
	}
	err = apiError("watch", err)
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	return status.Status()
}

func badResourceVersion(err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
}

// corruptError says that a stored object can't be transformed or decoded.
type corruptError struct{ err error }

func (e *corruptError) Error() string { return e.err.Error() }
func (e *corruptError) Unwrap() error { return e.err }

// corruptDeletedError says that the object of a DELETED event is corrupt.
type corruptDeletedError struct{ err error }

func (e *corruptDeletedError) Error() string {
	return fmt.Sprintf("saw a DELETED event, but object data is corrupt - %v", e.err)
}
func (e *corruptDeletedError) Unwrap() error { return e.err }
