// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestMain registers the metrics as a command does: before anything counts, which the library
// needs.
func TestMain(m *testing.M) {
	RegisterMetrics()
	os.Exit(m.Run())
}

// TestConcurrentUse: several scanners and readers at a time end where one would.
func TestConcurrentUse(t *testing.T) {
	t.Parallel()
	l := NewLayout(Options{Split: true, MaxResults: 20})
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 300 {
				id := clusterPolicy(fmt.Sprint("policy-", worker))
				l.Present(id, presentation())
				l.Set(id, pod("default", fmt.Sprint(i)), []policy.Result{fail("r", fmt.Sprint(i%7)), pass("s")})
				l.Set(id, pod("default", fmt.Sprint(i/2)), []policy.Result{pass("r")})
				l.RemovePolicy(clusterPolicy("other"))
			}
		})
		all.Go(func() {
			for range 10 {
				l.PruneUnseen(func(policy.Identity, policy.Reference, string) bool { return false })
				l.takeChanges()
				l.compactChunk()
				for object := range l.Reports() {
					if len(object.GetResults()) == 0 {
						t.Error("an empty report")
					}
				}
			}
		})
	}
	all.Wait()
	n := 0
	for object := range l.Reports() {
		n += len(object.GetResults())
	}
	if want := 4 * (150 + 150*2); n != want {
		t.Errorf("%d results, want %d", n, want)
	}
}

// TestMetrics pins the names of the metrics.
func TestMetrics(t *testing.T) {
	t.Parallel()
	RegisterMetrics() // Again: TestMain has done so.
	observeWrite(opCreate, nil, time.Second, 1)
	observeWrite(opUpdate, errors.New("away"), time.Second, 1)
	countForeign()
	observeReports(0)
	observePending(0)
	(&plan{}).observeQueue(time.Now())
	NewLayout(Options{}).observe()
	families := testkit.Must(legacyregistry.DefaultGatherer.Gather())(t)
	var names []string
	for _, family := range families {
		// Those of results by policy come and go: see TestPolicyResults.
		if name, ours := strings.CutPrefix(family.GetName(), "docket_controller_"); ours && name != "policy_results" {
			names = append(names, name)
		}
	}
	const want = "policy_results_unlisted report_pending report_queue report_queue_oldest_seconds report_write_duration_seconds report_writes_total report_written_bytes_total reports results"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("the metrics are %s", got)
	}
}
