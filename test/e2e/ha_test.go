// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// fleet is a set of replicas behind one Service, with load on it.
type fleet struct {
	cluster  *harness.Cluster
	balancer *harness.Balancer
	replicas []*harness.Replica
	reports  reports
	database string
}

// newFleet starts three replicas on a database and registers them.
func newFleet(t *testing.T, database string) *fleet {
	t.Helper()
	f := &fleet{cluster: harness.StartCluster(t), database: database}
	for range 3 {
		f.replicas = append(f.replicas, f.start(t))
	}
	f.balancer = harness.NewBalancer(t, f.replicas...)
	f.cluster.Register(t, f.balancer.Port)
	f.cluster.EnsureNamespace(t, "load")
	f.reports = policyReports(t, f.cluster, "load")
	return f
}

func (f *fleet) start(t *testing.T) *harness.Replica {
	t.Helper()
	return f.cluster.Serve(t, "--database", f.database)
}

// watchAvailability notes each time when an APIService is not available.
func (f *fleet) watchAvailability(t *testing.T) (stop func() []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var lost []string
	group.Go(func() {
		for ctx.Err() == nil {
			for name := range harness.APIServices() {
				if reason := f.cluster.Availability(t, name); reason != "" && ctx.Err() == nil {
					lost = append(lost, fmt.Sprintf("%s %s: %s", time.Now().Format("15:04:05.000"), name, reason))
				}
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	stop = func() []string {
		cancel()
		group.Wait()
		return lost
	}
	t.Cleanup(func() { stop() })
	return stop
}

// TestRollingRestart replaces each of three replicas under load, as a Deployment does.
// Who reads does not notice. A write that is on the wire when its connection is closed
// can fail with a 503, which clients retry.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	f := newFleet(t, testenv.Postgres(t).Database(t))
	follower := startFollower(t, f.reports)
	ledger, stopLedger := startLedger(t, f.reports, 4, 50*time.Millisecond)
	prober, stopProber := startProber(t, f.cluster)
	availability := f.watchAvailability(t)
	for _, old := range f.replicas {
		f.balancer.Add(f.start(t))
		f.balancer.Retire(t, old)
	}
	stopProber()
	stopLedger()
	for _, lost := range availability() {
		t.Error(lost)
	}
	prober.check(t)
	ledger.check(t)
	follower.check(t, f.reports)
}

// TestReplicaCrash kills replicas under load. Clients see errors that they retry, and
// nothing that was acknowledged is lost.
func TestReplicaCrash(t *testing.T) {
	t.Parallel()
	f := newFleet(t, testenv.Postgres(t).Database(t))
	follower := startFollower(t, f.reports)
	ledger, stopLedger := startLedger(t, f.reports, 4, 20*time.Millisecond)
	availability := f.watchAvailability(t)
	for _, victim := range f.replicas {
		f.balancer.Crash(t, victim)
		f.balancer.Add(f.start(t))
	}
	stopLedger()
	for _, lost := range availability() {
		t.Error(lost)
	}
	ledger.check(t)
	follower.check(t, f.reports)
}

// TestDatabaseFailover kills PostgreSQL under load and promotes its synchronous
// standby. The replicas find the new primary by themselves, and no watch ends.
func TestDatabaseFailover(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	primary := testenv.NewPostgres(t)
	database := primary.Database(t)
	standby := primary.Standby(t)
	f := newFleet(t, eitherOf(t, database, primary, standby))
	follower := startFollower(t, f.reports)
	ledger, stopLedger := startLedger(t, f.reports, 4, 20*time.Millisecond)
	ledger.waitFor(t, 200)
	primary.Kill(t)
	standby.Promote(t)
	ledger.waitFor(t, 200)
	stopLedger()
	ledger.check(t)
	follower.check(t, f.reports)
	follower.checkWentOn(t)
	for _, replica := range f.replicas {
		if !replica.Ready(t.Context()) {
			t.Errorf("a replica is not ready after the failover:\n%s", replica.Log())
		}
	}
}

// eitherOf is the address of a database on whichever server takes writes.
func eitherOf(t *testing.T, database string, servers ...*testenv.Dedicated) string {
	t.Helper()
	hosts := ""
	for _, server := range servers {
		if hosts != "" {
			hosts += ","
		}
		hosts += server.Addr()
	}
	u := testkit.Must(url.Parse(testenv.WithAddr(t, database, hosts)))(t)
	query := u.Query()
	query.Set("target_session_attrs", "read-write")
	query.Set("connect_timeout", "3")
	u.RawQuery = query.Encode()
	return u.String()
}

// TestCertificateRotation gives all replicas certificates of another authority under
// load: first the cluster trusts both, then the files change, then the old one goes.
func TestCertificateRotation(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	f := newFleet(t, testenv.Postgres(t).Database(t))
	ledger, stopLedger := startLedger(t, f.reports, 2, 50*time.Millisecond)
	prober, stopProber := startProber(t, f.cluster)
	availability := f.watchAvailability(t)
	rotation := f.cluster.NewRotation(t)
	f.cluster.RegisterWith(t, f.balancer.Port, rotation.Both())
	for _, replica := range f.replicas {
		rotation.Renew(t, replica)
	}
	f.cluster.RegisterWith(t, f.balancer.Port, rotation.New())
	ledger.waitFor(t, 100)
	prober.waitFor(t)
	stopProber()
	stopLedger()
	for _, lost := range availability() {
		t.Error(lost)
	}
	prober.check(t)
	ledger.check(t)
}

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
