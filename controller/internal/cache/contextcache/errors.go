// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/docket-project/docket/controller/internal/policy/call"
)

var (
	errEvicted  = errors.New("evicted")
	errListing  = errors.New("the watch was interrupted, and the list that has to follow is not complete")
	errTooLarge = errors.New("too large")
)

// Reasons of the condition Ready, beside those of [reasonOf].
const (
	ReasonLoaded    = "Loaded"
	ReasonLoading   = "Loading"
	ReasonInvalid   = "Invalid"
	ReasonForbidden = "Forbidden"
	ReasonStale     = "Stale"
	ReasonFailing   = "Failing"
	ReasonEvicted   = "Evicted"
	ReasonTooLarge  = "TooLarge"
)

// ReasonSeveralGroups is the reason of an Event about an entry whose kind several API groups have.
const ReasonSeveralGroups = "SeveralGroups"

// The reasons of failures in metrics, beside those of calls.
const (
	reasonForbidden = call.ReasonForbidden
	reasonMissing   = "not_found"
	reasonTimeout   = call.ReasonTimeout
	reasonOther     = call.ReasonOther
	reasonTooLarge  = "too_large"
)

// reasonOf returns the reason of a failure to list, to watch or to call.
func reasonOf(err error) string {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return reasonForbidden
	case apierrors.IsNotFound(err):
		return reasonMissing
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return reasonTimeout
	default:
		return call.Reason(err)
	}
}
