// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestErrors: ordinary ends are none, and the same error is logged now and then, with a count.
func TestErrors(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	var got []string
	var ending error
	h := &handler{ending: func() error { return ending }, now: func() time.Time { return now }, seen: map[string]*seen{}, log: func(_ context.Context, err error, msg string, values ...any) {
		got = append(got, fmt.Sprint(append([]any{msg, ": ", err}, values...)...))
	}}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	h.handle(t.Context(), fmt.Errorf("apiserver was unable to write a JSON response: %v", http.ErrHandlerTimeout), "Unhandled Error") //nolint:errorlint // As the library does.
	h.handle(t.Context(), fmt.Errorf("watch: %w", context.Canceled), "Unhandled Error")
	h.handle(t.Context(), nil, "Post-timeout activity", "path", "/")
	h.handle(t.Context(), nil, "Timeout or abort while handling", "method", "GET")
	h.handle(ended, nil, "Failed to list")
	h.handle(t.Context(), errors.New("write tcp 1.2.3.4:1->1.2.3.4:2: write: broken pipe"), "Unhandled Error")
	for range 30 {
		h.handle(t.Context(), errors.New("disk on fire"), "Failed to watch")
		now = now.Add(time.Second)
	}
	h.handle(t.Context(), errors.New("connection refused"), "Failed to watch")
	ending = context.Canceled
	h.handle(t.Context(), errors.New("connection refused, since the server has ended"), "Failed to watch")
	want := []string{
		"Failed to watch: disk on fire", "Failed to watch: disk on fire repeated 9", "Failed to watch: disk on fire repeated 9",
		"Failed to watch: connection refused",
	}
	for i := range got {
		got[i] = strings.Join(strings.Fields(strings.ReplaceAll(got[i], "repeated", " repeated ")), " ")
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "-want +got")
	for i := range 10 * maxErrors {
		h.handle(t.Context(), fmt.Errorf("error %d", i), "")
	}
	if len(h.seen) > maxErrors {
		t.Errorf("%d errors are remembered", len(h.seen))
	}
}

// capture sets the log up for a test, and returns where its lines go.
func capture(t *testing.T) (*logsapi.LoggingConfiguration, *bytes.Buffer) {
	t.Helper()
	config, out := logsapi.NewLoggingConfiguration(), &bytes.Buffer{}
	testkit.NoError(t, logsapi.ValidateAndApplyWithOptions(config, &logsapi.LoggingOptions{ErrorStream: out, InfoStream: out}, nil))
	t.Cleanup(func() {
		klog.ClearLogger()
		testkit.NoError(t, logsapi.ResetForTest(nil))
	})
	return config, out
}

// TestOnlyErrors: a person sees errors, and after one that all is well again. Not parallel, as the next.
func TestOnlyErrors(t *testing.T) {
	config, out := capture(t)
	OnlyErrors(config)
	klog.Info("library, unstructured")
	klog.Warning("library, a warning")
	klog.InfoS("before any error")
	klog.Error("an error without structure")
	klog.FromContext(klog.NewContext(t.Context(), klog.Background().WithValues("a", 1))).Error(nil, "the database is away")
	klog.InfoS("the database is back")
	reflect.ValueOf(klog.InfoS).Call([]reflect.Value{reflect.ValueOf("library, structured")})
	logs.FlushLogs()
	var got []string
	for line := range strings.Lines(out.String()) {
		_, text, _ := strings.Cut(line, "] ")
		got = append(got, line[:1]+" "+strings.TrimSpace(text))
	}
	want := []string{"E an error without structure", `E "the database is away" a=1`, `I "the database is back"`}
	testkit.NoDiff(t, cmp.Diff(want, got), "-want +got")
}

// TestOnlyOwn: information of libraries is left out, their warnings and errors are not.
// Not parallel: klog's logger is global.
func TestOnlyOwn(t *testing.T) {
	config, out := capture(t)
	OnlyOwn(config)
	klog.Info("library, unstructured")
	klog.Warning("a warning")
	klog.Error("an error")
	klog.InfoS("of our own", "n", 1)
	klog.ErrorS(nil, "a structured error")
	klog.FromContext(klog.NewContext(t.Context(), klog.Background().WithName("x").WithValues("a", 1))).Info("of our own by a context")
	// Who calls is package reflect, which is not ours.
	reflect.ValueOf(klog.InfoS).Call([]reflect.Value{reflect.ValueOf("library, structured")})
	logs.FlushLogs()
	for _, want := range []string{"a warning", "an error", "of our own\" n=1", "a structured error", "of our own by a context", "logs_test.go:"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is left out:\n%s", want, out.String())
		}
	}
	if lines := strings.Count(out.String(), "\n"); strings.Contains(out.String(), "library") || strings.Count(out.String(), " logs_test.go:") != lines {
		t.Errorf("there is more than that, or somebody else is said to have told it:\n%s", out.String())
	}
}
