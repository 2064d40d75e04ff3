// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/docket-project/docket/controller/internal/policy/call"
)

// Reasons of the condition Ready, and in lower case the states of entries in metrics.
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

// reasons are all of them.
var reasons = []string{
	ReasonLoaded, ReasonLoading, ReasonInvalid, ReasonForbidden, ReasonStale, ReasonFailing, ReasonEvicted, ReasonTooLarge,
}

// ReasonSeveralGroups is the reason of an Event about an entry whose kind several API groups have.
const ReasonSeveralGroups = "SeveralGroups"

// maxMessage is how many bytes of a message the status shows; its schema allows more.
const maxMessage = 4096

// condition returns what the condition Ready says of an entry; it is true if that is loaded.
func (e *entry) condition() (reason, message string) {
	switch {
	case e.err != nil:
		return ReasonInvalid, bounded(e.err.Error())
	case e.data == nil:
		return ReasonLoading, errNotKnown.Error()
	}
	reason, message = e.data.state.Load().reason()
	if e.warning != "" {
		message += "; " + e.warning
	}
	return reason, bounded(message)
}

// reason returns the same of data. Data that can't be refreshed are not ready
// at once, although they are served for a while.
func (s *state) reason() (reason, message string) {
	forbidden := s.err != nil && (apierrors.IsForbidden(s.err) || apierrors.IsUnauthorized(s.err) || call.Reason(s.err) == call.ReasonForbidden)
	switch {
	case s.phase == evicted:
		return ReasonEvicted, s.err.Error()
	case s.phase == tooLarge:
		return ReasonTooLarge, s.err.Error()
	case s.phase == loaded && s.err != nil && s.stale:
		return ReasonStale, s.failure().Error()
	case forbidden:
		return ReasonForbidden, s.err.Error()
	case s.phase == loaded && s.err != nil:
		return ReasonFailing, fmt.Sprintf("the data are those of before and still served: %s", s.err)
	case s.phase == loaded && s.data.Problem() != nil:
		return ReasonFailing, s.data.Problem().Error()
	case s.phase == loaded:
		return ReasonLoaded, "the data are loaded"
	case s.err != nil:
		return ReasonFailing, s.err.Error()
	default:
		return ReasonLoading, "waiting for the first data"
	}
}

func bounded(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage], "") + "…"
}

// The reasons of failures in metrics, beside those of calls.
const (
	reasonMissing  = "not_found"
	reasonTooLarge = "too_large"
)

// reasonOf returns the reason of a failure to list, to watch or to call.
func reasonOf(err error) string {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return call.ReasonForbidden
	case apierrors.IsNotFound(err):
		return reasonMissing
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return call.ReasonTimeout
	default:
		return call.Reason(err)
	}
}
