// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package contextcache

import (
	"fmt"
	"strings"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/docket-project/docket/controller/internal/policy/call"
)

// maxMessage is how many bytes of a message the status shows; its schema allows more.
const maxMessage = 4096

// reasons are all reasons of the condition Ready.
var reasons = []string{
	ReasonLoaded, ReasonLoading, ReasonInvalid, ReasonForbidden, ReasonStale, ReasonFailing, ReasonEvicted, ReasonTooLarge,
}

// stateLabel is a reason as a label of metrics.
func stateLabel(reason string) string { return strings.ToLower(reason) }

// condition is what the condition Ready says of an entry.
type condition struct {
	ready           bool
	reason, message string
}

func (e *entry) condition() condition {
	switch {
	case e.err != nil:
		return condition{reason: ReasonInvalid, message: bounded(e.err.Error())}
	case e.data == nil:
		return condition{reason: ReasonLoading, message: errNotKnown.Error()}
	}
	s := e.data.state.Load()
	reason, message := s.reason()
	if e.warning != "" {
		message += "; " + e.warning
	}
	return condition{ready: reason == ReasonLoaded, reason: reason, message: bounded(message)}
}

// reason returns what the condition Ready says of data. Data that can't be refreshed are not ready
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
	cut := maxMessage
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + "…"
}
