// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/docket-project/docket/internal/kit/testenv"
)

// TestAwayInWords: an etcd that is away is said in one line, with the cause and what to do.
func TestAwayInWords(t *testing.T) {
	t.Parallel()
	address := fmt.Sprintf("http://127.0.0.1:%d", testenv.FreePort(t))
	synctest.Test(t, func(t *testing.T) { testAwayInWords(t, address) }) // Time passes while it only waits.
}

func testAwayInWords(t *testing.T, address string) {
	t.Helper()
	var told []string
	options := Options{
		Transport: storagebackend.TransportConfig{ServerList: []string{address}}, Prefix: "/docket", Cluster: "main",
		ConnectTimeout: 2 * time.Second, Waiting: func(cause string, _ time.Duration) { told = append(told, cause) },
	}
	want := "open etcd at " + address + ": no answer within 2s: connection refused; start etcd there, or correct the address"
	if err := Wait(t.Context(), options); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if len(told) == 0 || told[0] != "connection refused" {
		t.Errorf("told of %q", told)
	}
	ctx, cancel := context.WithCancel(t.Context())
	options.ConnectTimeout, options.Waiting = 0, func(string, time.Duration) { cancel() }
	want = "open etcd at " + address + ": interrupted while waiting for it: connection refused"
	if err := Wait(ctx, options); !errors.Is(err, context.Canceled) || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
