// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/store/engine"
)

// check compares what was seen with the events.
func (c *checker) check(watchers []*checkedWatcher) {
	c.t.Helper()
	if err := c.record(c.slots[0].engine); err != nil {
		c.t.Fatal(err)
	}
	history := c.recorded.events
	c.checkWritten(history)
	byRevision := map[string]engine.Event{}
	for _, event := range history {
		byRevision[fmt.Sprint(event.Revision)] = event
	}
	for _, a := range c.acked {
		// A write that changed nothing answers with the revision it found.
		if event, ok := byRevision[a.revision]; !ok || podKeyRoot+event.Key != a.key {
			c.t.Errorf("S2: the acknowledged write of %s at revision %s is not in history", a.key, a.revision)
		}
	}
	for _, w := range watchers {
		want := c.project(history, w.selector)
		if diff := cmp.Diff(want, w.seen); diff != "" {
			c.t.Errorf("S3: watcher %d (%q), %d events (-history +seen):\n%s", w.number, w.selector, len(want), diff)
		}
	}
	c.checkList(history)
	c.t.Logf("%d writes acknowledged, %d events in history", len(c.acked), len(history))
}

// checkWritten makes sure that each value in history is one that somebody wrote, once.
func (c *checker) checkWritten(history []engine.Event) {
	c.t.Helper()
	seen := map[string]engine.Revision{}
	for _, event := range history {
		if event.Kind == engine.Delete || strings.HasPrefix(event.Key, endNamespace) {
			continue
		}
		id := c.decode(event.Value).Annotations[mark]
		may, begun := c.written[id]
		switch {
		case !begun:
			c.t.Errorf("S2: nobody wrote the value %q of %s at revision %d", id, event.Key, event.Revision)
		case !may:
			c.t.Errorf("S2: the write %q of %s is at revision %d, but was refused", id, event.Key, event.Revision)
		case seen[id] > 0:
			c.t.Errorf("S2: the write %q of %s is at revision %d, and at %d", id, event.Key, event.Revision, seen[id])
		}
		seen[id] = event.Revision
	}
}

// project returns the events that a watch with a selector must show.
func (c *checker) project(history []engine.Event, selector string) []seenEvent {
	c.t.Helper()
	label := predicateOf(selector).Label
	var events []seenEvent
	matched := map[string]bool{}
	for _, event := range history {
		if len(event.Key) > len(endNamespace) && event.Key[:len(endNamespace)] == endNamespace {
			continue
		}
		is := event.Kind != engine.Delete && label.Matches(labels.Set(c.decode(event.Value).Labels))
		was := matched[event.Key]
		matched[event.Key] = is
		kind := watch.Modified
		switch {
		case is && !was:
			kind = watch.Added
		case !is && was:
			kind = watch.Deleted
		case !is:
			continue
		}
		events = append(events, seenEvent{kind, event.Key, event.Revision})
	}
	return events
}

// checkList compares a list with the state that history leads to.
func (c *checker) checkList(history []engine.Event) {
	want := map[string]string{}
	for _, event := range history {
		delete(want, event.Key)
		if event.Kind != engine.Delete {
			want[event.Key] = fmt.Sprint(event.Revision)
		}
	}
	list := &example.PodList{}
	if err := c.slots[0].resource.GetList(context.Background(), podKeyRoot, storage.ListOptions{Recursive: true, Predicate: predicateOf("")}, list); err != nil {
		c.t.Fatal(err)
	}
	got := map[string]string{}
	for _, pod := range list.Items {
		got[pod.Namespace+"/"+pod.Name] = pod.ResourceVersion
	}
	if diff := cmp.Diff(want, got); diff != "" {
		c.t.Errorf("S4: list (-history +list):\n%s", diff)
	}
}

func (c *checker) decode(v engine.Value) *example.Pod {
	c.t.Helper()
	data, err := packer().Unpack(v)
	if err != nil {
		c.t.Fatal(err)
	}
	object, err := runtime.Decode(podCodec, data)
	if err != nil {
		c.t.Fatal(err)
	}
	return object.(*example.Pod)
}
