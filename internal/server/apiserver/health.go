// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"
)

// StoreCheck is the name of the readiness check of the store.
const StoreCheck = "docket-store"

// storeCheckTimeout is below the usual timeout of a probe with some retries, and
// above what a busy database takes to read one row.
const storeCheckTimeout = 3 * time.Second

// newStoreCheck returns the check that reports can be read and written now.
//
// Why not liveness: a restart does not bring a database back. It would only end
// watches that can go on when the database does.
func newStoreCheck(ready func(context.Context) error) healthz.HealthChecker {
	return healthz.NamedCheck(StoreCheck, func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), storeCheckTimeout)
		defer cancel()
		return ready(ctx)
	})
}
