// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/klog/v2"
)

const (
	// repeatInterval is how often the same error is logged at most.
	repeatInterval = 10 * time.Second
	// maxErrors is how many different errors are remembered.
	maxErrors = 200
	// detail is the verbosity at which ordinary ends are logged.
	detail = 2
)

// Prepare is called first of all in main: errors that libraries can return to nobody are logged if
// somebody should know of them, and not ever again.
func Prepare() {
	// It logs a line for each gate when it is asked for the first time, as loud as the log is then.
	clientfeatures.FeatureGates().Enabled(clientfeatures.WatchListClient)
	// For as long as the process lives; who ends it is package cli.
	ending, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	handler := &handler{now: time.Now, log: utilruntime.ErrorHandlers[0], ending: ending.Err, seen: map[string]*seen{}}
	utilruntime.ErrorHandlers[0] = handler.handle
}

// handler takes errors that libraries can return to nobody.
type handler struct {
	now func() time.Time
	log utilruntime.ErrorHandler
	// ending is not nil once the process was told to end. What ends one after the other then
	// misses what has ended before; commands return what matters.
	ending func() error

	mu   sync.Mutex
	seen map[string]*seen
}

// seen is when an error was logged, and how often it came since.
type seen struct {
	at    time.Time
	again int
}

func (h *handler) handle(ctx context.Context, err error, msg string, values ...any) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithCallDepth(1))
	if h.ending() != nil || ordinary(ctx, err, msg) {
		klog.FromContext(ctx).WithCallDepth(2).V(detail).Info(msg, append(slices.Clip(values), "err", err)...)
		return
	}
	again, ok := h.admit(err, msg)
	if !ok {
		return
	}
	if again > 0 {
		values = append(slices.Clip(values), "repeated", again)
	}
	h.log(ctx, err, msg, values...)
}

// admit reports whether an error is to be logged, and how often it came without that.
func (h *handler) admit(err error, msg string) (again int, ok bool) {
	if err != nil {
		msg += ": " + err.Error()
	}
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if known := h.seen[msg]; known != nil {
		if now.Before(known.at.Add(repeatInterval)) {
			known.again++
			return 0, false
		}
		again = known.again
	}
	if len(h.seen) >= maxErrors {
		clear(h.seen)
	}
	h.seen[msg] = &seen{at: now}
	return again, true
}

// ordinary tells of the end of a request, watch or process that somebody wanted: no fault.
func ordinary(ctx context.Context, err error, msg string) bool {
	if err == nil {
		// What the library has to say after a client had gone, without an error.
		return msg == "Post-timeout activity" || msg == "Timeout or abort while handling" || ctx.Err() != nil
	}
	text := err.Error()
	for _, end := range []error{
		context.Canceled, http.ErrHandlerTimeout, http.ErrAbortHandler, http.ErrServerClosed, net.ErrClosed,
		io.ErrClosedPipe, syscall.EPIPE, syscall.ECONNRESET,
		errors.New("http2: stream closed"), errors.New("client disconnected"), errors.New("http2: response body closed"),
	} {
		// By the text as well: the library puts most of them into new errors that don't wrap them.
		if errors.Is(err, end) || strings.HasSuffix(text, end.Error()) {
			return true
		}
	}
	return false
}
