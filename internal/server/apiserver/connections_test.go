// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/docket-project/docket/internal/kit/connections"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestConnectionsOfServerAreBounded: those that send nothing give way, the oldest first; a watch stays.
func TestConnectionsOfServerAreBounded(t *testing.T) {
	t.Parallel()
	server := testkit.Must(newServer(t.Context(), "sqlite://"+filepath.Join(t.TempDir(), "a.db")))(t)
	listener, ok := server.Generic.SecureServingInfo.Listener.(*connections.Listener)
	if !ok || listener.Most != connections.Most {
		t.Fatalf("the server listens with %T", server.Generic.SecureServingInfo.Listener)
	}
	listener.Most = 8
	s := runServer(t, server)
	watched := testkit.Must(s.client.Resource(policyReports).Namespace("a").Watch(t.Context(), metav1.ListOptions{}))(t)
	defer watched.Stop()
	silent := make([]net.Conn, 30)
	for i := range silent {
		silent[i] = testkit.Must((&net.Dialer{}).DialContext(t.Context(), "tcp", listener.Addr().String()))(t)
		defer func() { _ = silent[i].Close() }()
	}
	for i, conn := range silent[:20] {
		// The library closes all after 32 s.
		testkit.NoError(t, conn.SetReadDeadline(time.Now().Add(25*time.Second)))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("connection %d is not closed: %v", i, err)
		}
	}
	mustCreate(t, s.client.Resource(policyReports).Namespace("a"), report("r", 1))
	if event := <-watched.ResultChan(); event.Type != watch.Added {
		t.Errorf("the watch says %v", event)
	}
}
