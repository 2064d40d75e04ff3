// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver_test

import (
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestObjectsAreCounted: priority and fairness knows how many reports a list reads, and how large they are:
// from the start with these databases, from the second minute on with etcd.
func TestObjectsAreCounted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sqlite", "postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := databases()[name](t)
			first := startServer(t, url)
			for _, name := range []string{"a", "b", "c"} {
				mustCreate(t, first.reports("ns"), report(name, 17))
			}
			first.stop()

			config := testkit.Must(configure(t.Context(), url))(t)
			server := testkit.Must(config.New(t.Context()))(t)
			runServer(t, server)
			testkit.Eventually(t, "the reports are counted", func() bool {
				stats, err := config.Generic.StorageObjectCountTracker.Get(policyReports.GroupResource().String())
				return err == nil && stats.ObjectCount == 3 && stats.EstimatedAverageObjectSizeBytes > 1_000
			})
		})
	}
}
