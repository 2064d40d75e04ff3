// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package served

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// changingDiscovery answers with its current content.
type changingDiscovery struct {
	mu    sync.Mutex
	now   fakeDiscovery
	asked int
}

func (c *changingDiscovery) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.now.ServerGroupsAndResources()
}

func (c *changingDiscovery) set(now fakeDiscovery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// TestWatcher: a change is announced, and at once if somebody asks for it; errors change nothing,
// and are counted.
func TestWatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testWatcher)
}

func testWatcher(t *testing.T) {
	pods := fakeDiscovery{groups: []*metav1.APIGroup{group("", "v1")}, lists: []*metav1.APIResourceList{serving("v1", "Pod")}}
	more := fakeDiscovery{groups: pods.groups, lists: []*metav1.APIResourceList{serving("v1", "Pod", "Event")}}
	api := &changingDiscovery{now: fakeDiscovery{err: errors.New("away")}}
	var failures, changes atomic.Int64
	w := NewWatcher(Config{Discovery: api, Interval: time.Hour, Failed: func() { failures.Add(1) }})
	unsubscribe := w.Subscribe(func() { changes.Add(1) })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	testkit.Eventually(t, "a failure is counted", func() bool { return failures.Load() > 0 })
	if w.Current() != nil {
		t.Error("a catalog without an answer")
	}
	api.set(pods)
	testkit.Eventually(t, "it is asked again", func() bool { return changes.Load() == 1 })
	if got := len(w.Current().Resources()); got != 1 {
		t.Errorf("%d resources", got)
	}
	api.set(fakeDiscovery{err: errors.New("away")})
	known, before := w.Current(), failures.Load()
	w.Refresh()
	testkit.Eventually(t, "it is asked before its time", func() bool { return failures.Load() > before })
	if w.Current() != known {
		t.Error("trouble has changed the catalog")
	}
	api.set(more)
	w.Refresh()
	testkit.Eventually(t, "a change is told", func() bool { return changes.Load() == 2 })
	unsubscribe()
	api.set(pods)
	w.Refresh()
	testkit.Eventually(t, "a change is seen", func() bool { return len(w.Current().Resources()) == 1 })
	cancel()
	running.Wait()
	if changes.Load() != 2 {
		t.Error("told after the end of the subscription")
	}
}
