// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/docket-project/docket/internal/server/imports"
)

// DefaultMaxRequestBytesInFlight fits the memory limit of the manifests, 1 GiB: a body of
// JSON takes up to 16 times its bytes until its report is stored, other ones twice as much.
const DefaultMaxRequestBytesInFlight = 20 << 20

const (
	// smallBody is what the bodies of nearly all requests are below. They have a share of
	// their own, so that they never wait for large ones.
	smallBody = 256 << 10
	// smallBodiesInFlight is that share.
	smallBodiesInFlight = 16 << 20
	// bodyPatience is how long a request waits for its turn: short, since it takes a seat of
	// priority and fairness meanwhile.
	bodyPatience = 5 * time.Second
	// bodyRetrySeconds is when a refused request is to come again. Clients try ten times.
	bodyRetrySeconds = 5
	// largeBodiesWaiting bounds the requests that wait for their turn, for the same reason.
	largeBodiesWaiting = 16
	// bodyGrace and bodyRate say by when a body has to be here, so that nobody keeps others
	// waiting by sending slowly.
	bodyGrace = 5 * time.Second
	bodyRate  = 1 << 20
	// otherFormats is how much more memory YAML and patches take than reports in JSON.
	otherFormats = 2
	// importRoom is how much larger than a report the batch that it comes in may be.
	importRoom = 2
)

// bodyLimits bound the memory that the bodies of requests take: the bytes of those under
// way by their weight, and what is made of each body by the number of its values.
type bodyLimits struct {
	// max is the largest body, inFlight the bytes of large bodies under way.
	max, inFlight int64
	small, large  *semaphore.Weighted
	waiting       atomic.Int64
}

func newBodyLimits(most, inFlight int64) *bodyLimits {
	return &bodyLimits{
		max: most, inFlight: inFlight,
		small: semaphore.NewWeighted(smallBodiesInFlight), large: semaphore.NewWeighted(inFlight),
	}
}

// wrap bounds the bodies of requests.
func (l *bodyLimits) wrap(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !hasBody(r) {
			inner.ServeHTTP(w, r)
			return
		}
		most := l.most(r)
		if r.ContentLength > most {
			writeError(w, tooLarge(fmt.Sprintf("the body has %d bytes; --max-request-bytes allows %d", r.ContentLength, most)))
			return
		}
		release, err := l.admit(r, most)
		if err != nil {
			writeError(w, err)
			return
		}
		defer release()
		size := r.ContentLength
		if size < 0 {
			size = most
		}
		limited := r.WithContext(r.Context())
		limited.Body = newLimitedBody(r, size, most)
		inner.ServeHTTP(w, limited)
	})
}

func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}

// most returns how many bytes the body of a request may have.
func (l *bodyLimits) most(r *http.Request) int64 {
	if r.URL.Path == imports.Path {
		return importRoom * l.max
	}
	return l.max
}

// admit waits until there is room for the body of a request, and returns what gives the
// room back.
func (l *bodyLimits) admit(r *http.Request, most int64) (release func(), err *apierrors.StatusError) {
	room, weight := l.small, r.ContentLength
	if weight < 0 || weight > smallBody {
		room, weight = l.large, l.weight(r, most)
	}
	release = func() { room.Release(weight) }
	if room.TryAcquire(weight) {
		return release, nil
	}
	if room == l.large {
		defer l.waiting.Add(-1)
		if l.waiting.Add(1) > largeBodiesWaiting {
			return nil, busy()
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), bodyPatience)
	defer cancel()
	if room.Acquire(ctx, weight) != nil {
		return nil, busy()
	}
	return release, nil
}

// weight returns what a large body counts for. The largest ones take turns.
func (l *bodyLimits) weight(r *http.Request, most int64) int64 {
	weight := r.ContentLength
	if weight < 0 {
		weight = most
	}
	if r.Method == http.MethodPatch || isYAML(r) {
		weight *= otherFormats
	}
	return min(weight, l.inFlight)
}

func isYAML(r *http.Request) bool { return strings.Contains(r.Header.Get("Content-Type"), "yaml") }

// tooLarge is the answer to a body that will never be taken.
func tooLarge(message string) *apierrors.StatusError {
	refusedBodies.WithLabelValues("too_large").Inc()
	return apierrors.NewRequestEntityTooLargeError(message + "; split the report, or raise the limit and the memory of the server")
}

// busy is the answer to a body that will be taken later.
func busy() *apierrors.StatusError {
	refusedBodies.WithLabelValues("busy").Inc()
	return apierrors.NewTooManyRequests("large requests have filled --max-request-bytes-in-flight; try again later", bodyRetrySeconds)
}
