// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/storage/etcd3/testserver"
	"k8s.io/apiserver/pkg/storage/storagebackend"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store/etcdstore/etcdtest"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	transport := storagebackend.TransportConfig{ServerList: testserver.RunEtcd(t, etcdtest.NewConfig(t)).Endpoints()}
	s := testkit.Must(Open(t.Context(), Options{Transport: transport, Prefix: "/p", Cluster: "c"}))(t)
	if err := s.Ready(t.Context()); err != nil {
		t.Errorf("not ready: %v", err)
	}
	if got, err := (sizeMonitor{s}).Monitor(t.Context()); err != nil || got.Size <= 0 {
		t.Errorf("size %d, %v", got.Size, err)
	}
	away := errors.New("no answer")
	s.presence.set(away)
	if err := s.Ready(t.Context()); !errors.Is(err, away) {
		t.Errorf("ready while away: %v", err)
	}
	if _, err := (sizeMonitor{s}).Monitor(t.Context()); !errors.Is(err, away) {
		t.Errorf("size while away: %v", err)
	}

	stop := testkit.Run(t, "the storage", s.Run)
	testkit.Succeeds(t, "it sees that etcd is there", s.presence.away)
	stop()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Ready(t.Context()); err == nil {
		t.Error("ready after the end")
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	nobody := storagebackend.TransportConfig{ServerList: []string{"http://127.0.0.1:1"}}
	files := storagebackend.TransportConfig{ServerList: []string{"https://127.0.0.1:1"}, TrustedCAFile: "/nonexistent"}
	for name, options := range map[string]Options{
		"cluster": {Transport: nobody, Prefix: "/p", Cluster: "a/b"},
		"files":   {Transport: files, Prefix: "/p", Cluster: "c"},
		"nobody":  {Transport: nobody, Prefix: "/p", Cluster: "c", ConnectTimeout: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if s, err := Open(t.Context(), options); err == nil || s != nil {
				t.Errorf("opened: %v, %v", s, err)
			}
		})
	}
}
