// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
)

// code returns the HTTP code and whether there is a Retry-After; 0 for errors that
// clients get through the generic registry's own translation.
func code(err error) (int32, bool) {
	var s apierrors.APIStatus
	if !errors.As(err, &s) {
		return 0, false
	}
	return s.Status().Code, s.Status().Details != nil && s.Status().Details.RetryAfterSeconds > 0
}

func TestAPIError(t *testing.T) {
	t.Parallel()
	const retry = true
	refusedConnection := status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp [::1]:1: connect: connection refused"`)
	for name, c := range map[string]struct {
		err                   error
		read, write           int32
		readRetry, writeRetry bool
	}{
		"no connection":       {refusedConnection, http.StatusServiceUnavailable, http.StatusServiceUnavailable, retry, retry},
		"no leader":           {rpctypes.ErrNoLeader, http.StatusServiceUnavailable, http.StatusServiceUnavailable, retry, retry},
		"leader lost":         {rpctypes.ErrTimeoutDueToLeaderFail, http.StatusServiceUnavailable, http.StatusGatewayTimeout, retry, !retry},
		"connection lost":     {status.Error(codes.Unavailable, "error reading from server: EOF"), http.StatusServiceUnavailable, http.StatusGatewayTimeout, retry, !retry},
		"lost while waiting":  {errAway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, retry, !retry},
		"database of Kine":    {status.Error(codes.Unknown, "failed to connect: connection refused"), http.StatusServiceUnavailable, http.StatusServiceUnavailable, retry, retry},
		"database in between": {status.Error(codes.Unknown, "unexpected EOF"), http.StatusServiceUnavailable, http.StatusGatewayTimeout, retry, !retry},
		"too slow":            {fmt.Errorf("x: %w", context.DeadlineExceeded), http.StatusGatewayTimeout, http.StatusGatewayTimeout, !retry, !retry},
		"watch cache":         {apierrors.NewTooManyRequests("storage is (re)initializing", 1), http.StatusServiceUnavailable, http.StatusServiceUnavailable, retry, retry},
		"full":                {rpctypes.ErrNoSpace, http.StatusInsufficientStorage, http.StatusInsufficientStorage, !retry, !retry},
		"large for etcd":      {rpctypes.ErrRequestTooLarge, http.StatusRequestEntityTooLarge, http.StatusRequestEntityTooLarge, !retry, !retry},
		"large for gRPC": {
			status.Error(codes.ResourceExhausted, "trying to send message larger than max (3 vs. 2)"),
			http.StatusRequestEntityTooLarge, http.StatusRequestEntityTooLarge, !retry, !retry,
		},
		"not allowed": {rpctypes.ErrPermissionDenied, http.StatusInternalServerError, http.StatusInternalServerError, !retry, !retry},
		"not found":   {storage.NewKeyNotFoundError("/a", 1), 0, 0, !retry, !retry},
		"conflict":    {apierrors.NewConflict(schema.GroupResource{Resource: "x"}, "a", errors.New("x")), http.StatusConflict, http.StatusConflict, !retry, !retry},
		"canceled":    {context.Canceled, 0, 0, !retry, !retry},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, retried := code(apiError("get x", read, c.err)); got != c.read || retried != c.readRetry {
				t.Errorf("read: %d, Retry-After %v; want %d, %v", got, retried, c.read, c.readRetry)
			}
			if got, retried := code(apiError("create x", write, c.err)); got != c.write || retried != c.writeRetry {
				t.Errorf("write: %d, Retry-After %v; want %d, %v", got, retried, c.write, c.writeRetry)
			}
		})
	}
	if err := apiError("get x", read, nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

func TestExplained(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"user":       {rpctypes.ErrUserEmpty, "client certificate"},
		"role":       {rpctypes.ErrPermissionDenied, "client certificate"},
		"plain etcd": {errors.New("tls: first record does not look like a TLS handshake"), "use etcd://"},
		"TLS etcd":   {errors.New("error reading server preface: EOF"), "use etcds://"},
	} {
		if err := explained(c.err); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a remedy with %q", name, err, c.want)
		}
	}
}

func TestCheckKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int32{"/a/b-ü": 0, "/a\x00b": http.StatusBadRequest, "/a\xffb": http.StatusBadRequest} {
		if got, _ := code(checkKey(key)); got != want {
			t.Errorf("key %q: %d, want %d", key, got, want)
		}
	}
}
