// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
	"github.com/docket-project/docket/internal/store/postgres"
	"github.com/docket-project/docket/internal/store/storetest"
)

// pair is a primary with its synchronous standby, and the URL of a database on whichever of them takes writes.
type pair struct {
	primary, standby *testenv.Dedicated
	url              string
}

func newPair(t *testing.T) pair {
	t.Helper()
	primary := testenv.NewPostgres(t)
	database := primary.Database(t)
	standby := primary.Standby(t)
	url := testenv.WithAddr(t, database, primary.Addr()+","+standby.Addr())
	return pair{primary, standby, url + "&target_session_attrs=read-write"}
}

// replica starts one on the pair.
func (p pair) replica(t *testing.T) *reports {
	t.Helper()
	r := newReportsWith(t, store.Options{Engine: openReplica(t, p.url), BookmarkInterval: 100 * time.Millisecond})
	r.awaitReady(t)
	return r
}

// names returns the names of the next objects of a watch, each of which has to be new.
func names(t *testing.T, w watch.Interface, count int) []string {
	t.Helper()
	var got []string
	for len(got) < count {
		event, _ := testkit.Receive(t, fmt.Sprintf("an object after %v", got), w.ResultChan())
		object, ok := event.Object.(metav1.Object)
		if !ok || event.Type != watch.Added {
			t.Fatalf("after %v: %s %v", got, event.Type, event.Object)
		}
		got = append(got, object.GetName())
	}
	return got
}

// awaitBookmark expects only bookmarks, until one has at least a revision.
func awaitBookmark(t *testing.T, w watch.Interface, atLeast engine.Revision) {
	t.Helper()
	for got := engine.Revision(0); got < atLeast; {
		event, _ := testkit.Receive(t, fmt.Sprintf("a bookmark of revision %d", atLeast), w.ResultChan())
		object, ok := event.Object.(metav1.Object)
		if !ok || event.Type != watch.Bookmark {
			t.Fatalf("a watch of keys that nobody changes got %s %v", event.Type, event.Object)
		}
		revision := testkit.Must(strconv.ParseInt(object.GetResourceVersion(), 10, 64))(t)
		got = engine.Revision(revision)
	}
}

// quiet begins a watch of keys that nobody changes.
func (r *reports) quiet(t *testing.T, revision engine.Revision) watch.Interface {
	t.Helper()
	predicate := everything
	predicate.AllowWatchBookmarks = true
	w := testkit.Must(r.Watch(t.Context(), "/wgpolicyk8s.io/policyreports/quiet", storage.ListOptions{
		Recursive: true, Predicate: predicate, ResourceVersion: strconv.FormatInt(int64(revision), 10),
	}))(t)
	t.Cleanup(w.Stop)
	return w
}

// TestSwitchoverEndsNoWatch: a synchronous standby is promoted after its primary was stopped in order. Watches on
// two replicas go on with each event once, those that come back later as well, and on a replica that is new.
// Guarantees S3 and S8.
func TestSwitchoverEndsNoWatch(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b := p.replica(t), p.replica(t)
	first := a.present(t)
	var want []string
	create := func(r *reports, n int) {
		for range n {
			name := fmt.Sprintf("n-%d", len(want))
			r.create(t, name)
			want = append(want, name)
		}
	}
	watches := []watch.Interface{a.from(t, first), b.from(t, first)}
	quiet := []watch.Interface{a.quiet(t, first), b.quiet(t, first)}
	create(a, 5)
	create(b, 5)
	before := b.present(t)
	for _, w := range quiet {
		awaitBookmark(t, w, before)
	}
	p.primary.Stop(t)
	p.standby.Promote(t)
	fresh := p.replica(t)
	watches = append(watches, a.from(t, first), b.from(t, first), fresh.from(t, first))
	later := []watch.Interface{a.from(t, before), b.from(t, before), fresh.from(t, before)}
	create(b, 5)
	create(a, 5)
	now := b.present(t)
	for n, w := range watches {
		testkit.NoDiff(t, cmp.Diff(want, names(t, w, len(want))), "watch %d (-want +got)", n)
	}
	for n, w := range later {
		testkit.NoDiff(t, cmp.Diff(want[10:], names(t, w, 10)), "watch %d from before the switchover (-want +got)", n)
	}
	for _, w := range quiet {
		awaitBookmark(t, w, now)
	}
	if now <= before+1_000_000 {
		t.Errorf("the revision was %d and is %d: those between may have been given out", before, now)
	}
}

// TestPostgresSwitchover: guarantees S1 to S4 with three replicas, while a synchronous standby takes over from a
// primary that is stopped in order, or killed.
func TestPostgresSwitchover(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*testenv.Dedicated, testing.TB){
		"stopped": (*testenv.Dedicated).Stop, "killed": (*testenv.Dedicated).Kill,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			openReplica(t, p.url) // creates the tables
			disturbances := 0
			storetest.Replicas(t, storetest.Chaos{
				Open: func() (engine.Engine, error) {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					return postgres.Open(ctx, postgres.Options{URL: p.url, Cluster: "test"})
				},
				Disturb: func() {
					if disturbances++; disturbances == 3 {
						end(p.primary, t)
						p.standby.Promote(t)
						return
					}
					cutConnections(t, p.url)
				},
				MayLose:      name == "killed",
				Replicas:     3,
				Duration:     15 * time.Second,
				Disturbances: 4, // The third is the switchover.
				Seed:         2,
			})
		})
	}
}

// TestFailoverEndsWatchesOfLostEvents: the standby that is promoted has not got the last commits. Watches that saw them
// end, others go on.
func TestFailoverEndsWatchesOfLostEvents(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a := p.replica(t)
	first := a.present(t)
	saw := a.from(t, first)
	a.create(t, "kept")
	kept := a.present(t)
	p.primary.GoOnAlone(t)
	p.standby.Stop(t)
	a.create(t, "lost-0")
	a.create(t, "lost-1")
	lost := a.present(t)
	if got := strings.Join(names(t, saw, 3), " "); got != "kept lost-0 lost-1" {
		t.Fatalf("got %s", got)
	}
	p.primary.Kill(t)
	p.standby.Start(t)
	p.standby.Promote(t)

	fresh := p.replica(t)
	fresh.create(t, "after-0") // Before anybody else comes, two revisions that were given out would be taken.
	fresh.create(t, "after-1")
	for _, r := range []*reports{fresh, a} {
		expectExpired(t, r.from(t, lost))
		expectExpired(t, r.from(t, lost-1))
		if got := strings.Join(names(t, r.from(t, first), 3), " "); got != "kept after-0 after-1" {
			t.Errorf("a watch from before got %s", got)
		}
		if got := strings.Join(names(t, r.from(t, kept), 2), " "); got != "after-0 after-1" {
			t.Errorf("a watch of what was kept got %s", got)
		}
	}
	expectExpired(t, saw)
}
