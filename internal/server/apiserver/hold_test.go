// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/server/imports"
)

// startHeld runs a server that lets requests for wgpolicyk8s.io wait.
func startHeld(t *testing.T) (s *testServer, end func()) {
	t.Helper()
	s = startServer(t, "sqlite://"+filepath.Join(t.TempDir(), "a.db"))
	hold := func(hold imports.Hold) {
		s.do(t, http.MethodPost, imports.HoldPath, []byte(`{"groups":["wgpolicyk8s.io"],"hold":"`+string(hold)+`"}`)).want(t, http.StatusOK)
	}
	hold(imports.HoldWait)
	return s, func() { hold(imports.NoHold) }
}

const asPlain = "Authorization: Bearer " + plainToken

// TestHoldIsForUsers: unknown callers are refused at once, and do not wait.
func TestHoldIsForUsers(t *testing.T) {
	t.Parallel()
	s, _ := startHeld(t)
	request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.config.Host+reportsPath("ns", ""), http.NoBody))(t)
	response, err := anonymousClient(t, s.Server).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a stranger got %s, %v", response.Status, err)
	}
}

// TestWhoPassesHolds: the header alone is not enough; the caller needs the right to import as well.
func TestWhoPassesHolds(t *testing.T) {
	t.Parallel()
	s, end := startHeld(t)
	const header = imports.HoldHeader + ": true"
	s.do(t, http.MethodGet, reportsPath("ns", ""), nil, header).want(t, http.StatusOK)
	refused := s.do(t, http.MethodGet, reportsPath("ns", ""), nil, header, asPlain).want(t, http.StatusForbidden)
	if !strings.Contains(string(refused.body), "may post to /import") {
		t.Errorf("the answer does not say what is missing: %s", refused.body)
	}
	s.do(t, http.MethodPost, imports.HoldPath, []byte(`{"groups":["wgpolicyk8s.io"],"hold":""}`), asPlain).want(t, http.StatusForbidden)
	end()
	s.do(t, http.MethodGet, reportsPath("ns", ""), nil, header, asPlain).want(t, http.StatusOK)
}

// TestHoldsAreBounded: of many requests a hundred wait; the others are asked to retry later.
func TestHoldsAreBounded(t *testing.T) {
	t.Parallel()
	const clients, waiting = 130, 100
	s, end := startHeld(t)
	codes := make(chan int, clients)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			answer := s.do(t, http.MethodGet, reportsPath("ns", ""), nil, asPlain)
			if answer.StatusCode == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") == "" {
				t.Error("the answer does not say when to come again")
			}
			codes <- answer.StatusCode
		})
	}
	for range clients - waiting {
		if code, _ := testkit.Receive(t, "one too many is told to come again", codes); code != http.StatusServiceUnavailable {
			t.Errorf("one too many got %d", code)
		}
	}
	end()
	group.Wait()
	for range waiting {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("a request that waited got %d", code)
		}
	}
}
