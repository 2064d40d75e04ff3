// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/server/egressselector"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func TestPresence(t *testing.T) {
	t.Parallel()
	p := newPresence()
	begin := func() (context.Context, context.CancelFunc) {
		return testkit.Must2(p.begin(t.Context()))(t)
	}
	running, end := begin()
	defer end()
	finished, endFinished := begin()
	endFinished()

	reason := errors.New("no answer")
	for i, step := range []struct {
		outcome error
		news    bool
	}{{nil, false}, {reason, true}, {reason, false}} {
		if got := p.set(step.outcome); got != step.news {
			t.Errorf("probe %d is news: %v, want %v", i, got, step.news)
		}
	}
	if !errors.Is(p.away(), reason) {
		t.Errorf("away because of %v, want %v", p.away(), reason)
	}
	<-running.Done()
	if cause := context.Cause(running); !errors.Is(cause, errAway) {
		t.Errorf("what was running ended because of %v", cause)
	}
	if cause := context.Cause(finished); errors.Is(cause, errAway) {
		t.Error("what had ended before was told")
	}
	if _, _, err := p.begin(t.Context()); !errors.Is(err, reason) {
		t.Errorf("an operation while it is away: %v, want %v", err, reason)
	}
	if !p.set(nil) || p.away() != nil {
		t.Error("it is back, and still away")
	}
	again, endAgain := begin()
	defer endAgain()
	if err := again.Err(); err != nil {
		t.Errorf("an operation after the absence: %v", err)
	}
}

// TestRefusedWhileAway: nobody waits, and nothing is sent.
func TestRefusedWhileAway(t *testing.T) {
	t.Parallel()
	r := &resource{label: "x", presence: newPresence()} // A call of the storage would panic.
	r.presence.set(errors.New("no answer"))
	_, watchErr := r.Watch(t.Context(), "/a", storage.ListOptions{})
	for name, err := range map[string]error{
		"create": r.Create(t.Context(), "/a", nil, nil, 0),
		"get":    r.Get(t.Context(), "/a", storage.GetOptions{}, nil),
		"watch":  watchErr,
	} {
		if got, retried := code(err); got != 503 || !retried {
			t.Errorf("%s: %v, want 503 with Retry-After", name, err)
		}
	}
}

// TestPersistentDialer: a listener that comes late is found soon, and ctx ends the
// search.
func TestPersistentDialer(t *testing.T) {
	t.Parallel()
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	dial, err := persistentDialer(egressselector.Etcd.AsNetworkContext())
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(t.Context(), 2*dialInterval)
	defer cancel()
	if _, err := dial(short, "tcp", address); err == nil {
		t.Fatal("connected to nobody")
	}
	connected := make(chan error, 1)
	go func() {
		conn, err := dial(t.Context(), "tcp", address)
		if err == nil {
			err = conn.Close()
		}
		connected <- err
	}()
	listener := testkit.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", address))(t)
	defer func() { _ = listener.Close() }()
	if err, _ := testkit.Receive(t, "it is connected", connected); err != nil {
		t.Error(err)
	}
}

func TestValidateCluster(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{"default": true, "a.b": true, "": false, ".": false, "..": false, "a/b": false} {
		if err := ValidateCluster(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestGetRESTOptions: each resource has its own part of the cluster's keys.
func TestGetRESTOptions(t *testing.T) {
	t.Parallel()
	s := &Store{options: Options{Prefix: "/p", Cluster: "c", CompactionInterval: time.Hour, GarbageCollector: true}}
	options := testkit.Must(s.RESTOptionsGetter().GetRESTOptions(schema.GroupResource{Group: "g", Resource: "r"}, nil))(t)
	if config := options.StorageConfig; config.Prefix != "/p/c" || options.ResourcePrefix != "/g/r" ||
		config.CompactionInterval != time.Hour || !options.EnableGarbageCollection {
		t.Errorf("options: %+v, %+v", options, config)
	}
}
