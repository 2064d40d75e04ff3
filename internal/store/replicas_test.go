// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store"
)

// TestReplicasWriteAtOnce: of two replicas that write at the same time, watchers of each see every change once, also
// behind a pooler that gives none of them a session of its own. How much they read for that is logged;
// TestOwnCommitsAreNotRead is exact.
func TestReplicasWriteAtOnce(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t).Database(t)
	pooled := testenv.Postgres(t).Database(t)
	for name, url := range map[string]string{"direct": url, "pooled": testenv.NewBouncer(t, pooled, "transaction", 6).URL(t, pooled)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writeAtOnce(t, url)
		})
	}
}

func writeAtOnce(t *testing.T, url string) {
	t.Helper()
	const writes, writers = 1000, 8
	var engines []*counted
	var replicas []*reports
	for range 2 {
		e := &counted{Engine: openReplica(t, url)}
		r := newReportsWith(t, store.Options{Engine: e})
		r.awaitReady(t)
		engines, replicas = append(engines, e), append(replicas, r)
	}
	first := replicas[0].present(t)
	var group errgroup.Group
	for n, r := range replicas {
		for w := range writers {
			group.Go(func() error {
				for i := range writes / writers {
					name := fmt.Sprintf("of-%d-%d-%d", n, w, i)
					if err := r.Create(t.Context(), key(name), newReport(name), emptyReport(), 0); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	var watching sync.WaitGroup
	for _, r := range replicas {
		w := r.from(t, first)
		watching.Go(func() { expectRevisions(t, w, first, first+2*writes) })
	}
	testkit.NoError(t, group.Wait())
	watching.Wait()
	for n, e := range engines {
		read := e.events.Load()
		t.Logf("replica %d read %d events, by %d reads, of %d that the other one wrote and as many of its own", n, read, e.calls.Load(), writes)
	}
}

func newReport(name string) *policyReport {
	r := emptyReport()
	r.Namespace, r.Name = "ns", name
	return r
}
