// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// EtcdAPI is a running program that speaks the API of etcd.
type EtcdAPI struct {
	// Database is what Docket's --database takes.
	Database string

	process process
	// ready is in its output when it serves.
	ready string
}

// StartEtcd starts an etcd with nothing in it. It ends with the test.
func StartEtcd(t testing.TB) *EtcdAPI {
	t.Helper()
	client, peer := "127.0.0.1:"+strconv.Itoa(testenv.FreePort(t)), "http://127.0.0.1:"+strconv.Itoa(testenv.FreePort(t))
	return startEtcdAPI(t, client, "ready to serve client requests", process{path: testenv.Program(t, "etcd"), arguments: []string{
		"--data-dir=" + filepath.Join(t.TempDir(), "etcd"),
		"--listen-client-urls=http://" + client, "--advertise-client-urls=http://" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--unsafe-no-fsync", // A killed process loses nothing that the kernel has.
	}})
}

// StartKine starts a Kine on a database, given as Kine's own --endpoint. It ends with
// the test.
func StartKine(t testing.TB, endpoint string) *EtcdAPI {
	t.Helper()
	client := "127.0.0.1:" + strconv.Itoa(testenv.FreePort(t))
	return startEtcdAPI(t, client, "Kine available at", process{path: testenv.Program(t, "kine"), arguments: []string{
		"--endpoint=" + endpoint, "--listen-address=" + client, "--metrics-bind-address=0",
	}})
}

func startEtcdAPI(t testing.TB, address, ready string, p process) *EtcdAPI {
	t.Helper()
	e := &EtcdAPI{Database: "etcd://" + address + "/docket", process: p, ready: ready}
	e.Start(t)
	t.Cleanup(func() {
		if err := e.process.end(syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		e.process.log(t)
	})
	return e
}

// URL is what other programs take.
func (e *EtcdAPI) URL() string {
	return "http://" + strings.TrimSuffix(strings.TrimPrefix(e.Database, "etcd://"), "/docket")
}

// Start starts it again on its data, after Kill.
func (e *EtcdAPI) Start(t testing.TB) {
	t.Helper()
	e.process.output = nil // What an earlier run wrote doesn't count.
	ready := func(_ context.Context, o *output) bool { return strings.Contains(o.text(), e.ready) }
	testkit.NoError(t, e.process.start(t.Context(), ready))
}

// Kill ends it with SIGKILL.
func (e *EtcdAPI) Kill(t testing.TB) {
	t.Helper()
	testkit.NoError(t, e.process.end(syscall.SIGKILL))
}
