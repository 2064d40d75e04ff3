// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// fakeServer answers wrongly, to see whether that is noticed.
type fakeServer struct {
	dropFromLists int    // objects that lists leave out
	repeatEvents  bool   // each event comes twice
	failMethod    string // answered 500
	// disturb is what somebody else does while a list is read.
	disturb func(*canned, place)

	canned *canned
}

// start returns the URL of a server that lives as long as the test.
func (f *fakeServer) start(t *testing.T) string {
	t.Helper()
	f.canned = newCanned()
	f.canned.dropFromLists, f.canned.repeatEvents = f.dropFromLists, f.repeatEvents
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return server.URL
}

func (f *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == f.failMethod {
		http.Error(w, "made to fail", http.StatusInternalServerError)
		return
	}
	if f.disturb != nil && r.URL.Query().Has("labelSelector") {
		f.canned.mu.Lock()
		f.disturb(f.canned, f.canned.order[0])
		f.canned.mu.Unlock()
	}
	f.canned.ServeHTTP(w, r)
}
