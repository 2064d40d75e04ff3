// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// TestBookmarksWhileBusy: a client that never comes to the end of the events gets its bookmarks all the same.
func TestBookmarksWhileBusy(t *testing.T) {
	t.Parallel()
	const events = 2000
	for name, ring := range map[string]store.RingBytes{"in memory": 64 << 20, "behind": 1 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReportsWith(t, store.Options{Engine: openModel(t), RingBytes: ring, BookmarkInterval: 20 * time.Millisecond})
			first := r.present(t)
			r.fill(t, events)
			predicate := everything
			predicate.AllowWatchBookmarks = true
			w := testkit.Must(r.Watch(t.Context(), "/wgpolicyk8s.io/policyreports", storage.ListOptions{
				Recursive: true, Predicate: predicate, ResourceVersion: strconv.FormatInt(int64(first), 10),
			}))(t)
			defer w.Stop()
			for seen := 0; seen < events-200; { // The watch is ahead of its client by that at most.
				event := <-w.ResultChan()
				switch event.Type {
				case watch.Bookmark:
					if got := event.Object.(*policyReport).ResourceVersion; got != strconv.Itoa(int(first)+seen) {
						t.Errorf("bookmark of %s after %d events since %d", got, seen, first)
					}
					return
				case watch.Error:
					t.Fatal(event.Object)
				default:
					seen++
					<-time.After(time.Millisecond)
				}
			}
			t.Error("no bookmark among the events")
		})
	}
}

// TestStuckBehind: clients that don't read, with watches that are behind the ring, beside one that does.
// Guarantee S6.
func TestStuckBehind(t *testing.T) {
	t.Parallel()
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReportsWith(t, store.Options{Engine: open(t), RingBytes: 1 << 10})
			first := r.present(t)
			r.fill(t, 1000)
			for i := range 50 {
				r.from(t, first+engine.Revision(i))
			}
			w := r.from(t, first)
			expectRevisions(t, w, first, first+1000)
			r.create(t, "another")
			expectRevisions(t, w, first+1000, first+1001)
		})
	}
}
