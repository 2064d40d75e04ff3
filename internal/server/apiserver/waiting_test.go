// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestWaitingForTheDatabase is said once in a while, without the password.
func TestWaitingForTheDatabase(t *testing.T) {
	t.Parallel()
	var got []string
	options := NewStorageOptions()
	options.Database = "postgres://me:secret@db:5432/reports"
	options.Waiting = func(text string) { got = append(got, text) }
	waiting := options.newWaiting()
	for range 100 {
		waiting("connection refused", 50*time.Second)
	}
	options.newWaiting()("connection refused", 0)
	want := []string{
		"Waiting for the database postgres://me:xxxxx@db:5432/reports: connection refused; giving up in 50s",
		"Waiting for the database postgres://me:xxxxx@db:5432/reports: connection refused",
	}
	testkit.NoDiff(t, cmp.Diff(want, got), "-want +got")
}
