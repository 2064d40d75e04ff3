// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store"
)

// BenchmarkActiveWatchers is what a change costs with watchers that all get some of them: each watches one of a hundred
// namespaces, or all watch everything. The time is that until the last watcher has the last change, of the memory
// engine, so that it is the store's.
func BenchmarkActiveWatchers(b *testing.B) {
	for _, c := range []struct{ watchers, namespaces int }{{100, 1}, {1000, 1}, {1000, 100}, {10000, 100}} {
		b.Run(fmt.Sprintf("watchers=%d/namespaces=%d", c.watchers, c.namespaces), func(b *testing.B) {
			r := newReportsWith(b, store.Options{Engine: openModel(b)})
			var expected, got atomic.Int64
			expected.Store(int64(b.N) * int64(c.watchers/c.namespaces))
			done := make(chan struct{})
			var watching sync.WaitGroup
			defer watching.Wait()
			for i := range c.watchers {
				w := testkit.Must(r.Watch(b.Context(), fmt.Sprintf("/wgpolicyk8s.io/policyreports/ns-%d", i%c.namespaces),
					storage.ListOptions{Recursive: true, Predicate: everything, ResourceVersion: "1"}))(b)
				defer w.Stop()
				watching.Go(func() {
					for range w.ResultChan() {
						if got.Add(1) == expected.Load() {
							close(done)
						}
					}
				})
			}
			b.ResetTimer()
			r.write(b, b.N, c.namespaces)
			<-done
			b.ReportMetric(float64(expected.Load())/b.Elapsed().Seconds(), "deliveries/s")
		})
	}
}

// write creates reports, round the namespaces.
func (r *reports) write(b *testing.B, count, namespaces int) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(64)
	for i := range count {
		group.Go(func() error {
			namespace, name := fmt.Sprintf("ns-%d", i%namespaces), fmt.Sprintf("report-%d", i)
			in := &policyReport{}
			if err := in.UnmarshalJSON(filled(name)); err != nil {
				return err
			}
			in.Namespace = namespace
			return r.Create(b.Context(), "/wgpolicyk8s.io/policyreports/"+namespace+"/"+name, in, &policyReport{}, 0)
		})
	}
	testkit.NoError(b, group.Wait())
}
