// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// TestPatroni switches a PostgreSQL over under load, as an operator does for an update, and kills its primary then.
// Patroni promotes the synchronous standby both times: nothing that was acknowledged is lost, and no watch ends.
func TestPatroni(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	database := testenv.NewPatroni(t, harness.StartEtcd(t).URL())
	f := newFleet(t, database.Database(t))
	follower := startFollower(t, f.reports)
	ledger, stopLedger := startLedger(t, f.reports, 4, 20*time.Millisecond)
	ledger.waitFor(t, 100)
	database.Switchover(t)
	ledger.waitFor(t, 100)
	database.WaitSynchronous(t)
	database.KillPrimary(t)
	ledger.waitFor(t, 100)
	stopLedger()
	ledger.check(t)
	follower.check(t, f.reports)
	follower.checkWentOn(t)
}
