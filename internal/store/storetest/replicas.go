// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/storage"

	"github.com/docket-project/docket/internal/store"
	"github.com/docket-project/docket/internal/store/engine"
)

// Chaos describes a run of Replicas.
type Chaos struct {
	// Open opens one more engine on the same database.
	Open func() (engine.Engine, error)
	// Disturb breaks something of the database for a moment, for example cuts all its connections.
	Disturb func()
	// MayLose is whether Disturb may let a database take over that lacks commits which nobody was told of.
	MayLose  bool
	Replicas int
	// Duration is how long it goes on, or longer, until Disturb was called as often as Disturbances says.
	Duration     time.Duration
	Disturbances int
	Seed         uint64
}

const (
	chaosWriters  = 6
	chaosWatchers = 6
	chaosKeys     = 20
	// watchersPatience is how long watchers may take to see the end.
	watchersPatience = 2 * time.Minute
)

// Replicas runs several stores on one database with writers and watchers on all of them, while stores are killed,
// history that nobody needs is dropped, and the database is disturbed. Then it checks, against the events:
//
//   - S1: revisions have no gap, except one that a failover left;
//   - S2: every acknowledged write is there, at the revision it was given, and
//     nothing that nobody wrote, that was refused, or twice;
//   - S3: every watcher saw every event that concerns it, once and in order,
//     over all its reconnects; one that saw what a failover lost got an error;
//   - S4: a list is the state that the events lead to.
func Replicas(t *testing.T, chaos Chaos) {
	c := &checker{t: t, chaos: chaos, slots: make([]*slot, chaos.Replicas), written: map[string]bool{}}
	for i := range c.slots {
		c.slots[i] = &slot{}
		c.restart(i)
	}
	t.Cleanup(func() {
		for i := range c.slots {
			c.stop(i)
		}
	})
	start := c.anyRevision()
	c.recorded.last = start
	watchCtx, stopWatches := context.WithCancel(context.Background())
	defer stopWatches()
	watchers := make([]*checkedWatcher, chaosWatchers)
	var watching, writing sync.WaitGroup
	for i := range watchers {
		watchers[i] = &checkedWatcher{checker: c, number: i, selector: chaosSelector(i)}
		watchers[i].last.Store(int64(start))
		watching.Go(func() { watchers[i].run(watchCtx) })
	}
	writeCtx, stopWrites := context.WithCancel(context.Background())
	defer stopWrites()
	for i := range chaosWriters {
		writing.Go(func() { c.write(writeCtx, i) })
	}
	c.disturb(watchers)
	stopWrites()
	writing.Wait()
	c.finish()
	defer time.AfterFunc(watchersPatience, stopWatches).Stop()
	watching.Wait()
	c.check(watchers)
}

// slot is where a replica runs. It is empty while the replica is dead.
type slot struct {
	mu       sync.Mutex
	resource *store.Resource
	engine   engine.Engine
	cancel   context.CancelFunc
	done     chan struct{}
}

type checker struct {
	t     *testing.T
	chaos Chaos
	slots []*slot

	// recorded are the events as far as they were read.
	recorded struct {
		events []engine.Event
		last   engine.Revision
		gap    engine.Gap
	}

	mu    sync.Mutex
	acked []ack
	// written is whether a write may have happened, by what marks its value.
	written map[string]bool
}

// ack is a write that a client was told has happened.
type ack struct {
	key      string
	revision string
}

// restart starts a replica, again and again until the database lets it.
func (c *checker) restart(i int) {
	s := c.slots[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	var opened engine.Engine
	var started *store.Store
	ctx, cancel := context.WithCancel(context.Background())
	deadline := time.Now().Add(time.Minute)
	for started == nil {
		var err error
		if opened, err = c.chaos.Open(); err == nil {
			if started, err = store.New(ctx, store.Options{Engine: opened, RingBytes: 64 << 10, BookmarkInterval: time.Second}); err != nil {
				_ = opened.Close()
			}
		}
		if err != nil && time.Now().After(deadline) {
			cancel()
			c.t.Errorf("replica %d doesn't start: %v", i, err)
			return
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := started.Run(ctx); err != nil {
			c.t.Errorf("replica %d: %v", i, err)
		}
	}()
	s.engine, s.cancel, s.done = opened, cancel, done
	s.resource = started.Resource(store.ResourceConfig{
		GroupResource: schema.GroupResource{Resource: "pods"}, Prefix: podKeyRoot, Codec: podCodec,
		NewFunc: func() runtime.Object { return &example.Pod{} }, NewListFunc: func() runtime.Object { return &example.PodList{} },
		Attributes: podAttributes,
	})
}

// stop kills a replica: its work under way fails.
func (c *checker) stop(i int) {
	s := c.slots[i]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resource == nil {
		return
	}
	_ = s.engine.Close()
	s.cancel()
	<-s.done
	s.resource = nil
}

// replica returns a random living replica, or nil.
func (c *checker) replica(r *rand.Rand) *store.Resource {
	s := c.slots[r.IntN(len(c.slots))]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resource
}

func (c *checker) anyRevision() engine.Revision {
	revision, err := c.slots[0].resource.GetCurrentResourceVersion(context.Background())
	if err != nil {
		c.t.Fatal(err)
	}
	return engine.Revision(revision)
}

// state asks the database through the first replica.
func (c *checker) state(ctx context.Context) (engine.State, error) {
	s := c.slots[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.engine.State(ctx)
}

// disturb kills, disturbs and drops history until that was enough.
func (c *checker) disturb(watchers []*checkedWatcher) {
	r := rand.New(rand.NewPCG(c.chaos.Seed, 2))
	disturbances := 0
	for end := time.Now().Add(c.chaos.Duration); time.Now().Before(end) || disturbances < c.chaos.Disturbances; {
		<-time.After(time.Duration(200+r.IntN(400)) * time.Millisecond)
		c.compact(r, watchers)
		if c.chaos.Disturb != nil && r.IntN(2) == 0 {
			c.chaos.Disturb()
			disturbances++
			continue
		}
		i := r.IntN(len(c.slots))
		c.stop(i)
		c.restart(i)
	}
}

// compact drops what was recorded and all watchers have seen, through any replica.
func (c *checker) compact(r *rand.Rand, watchers []*checkedWatcher) {
	s := c.slots[r.IntN(len(c.slots))]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resource == nil || c.record(s.engine) != nil {
		return // It can be done the next time.
	}
	upTo := c.recorded.last
	for _, w := range watchers {
		last := engine.Revision(w.last.Load())
		if c.recorded.gap.Has(last) {
			last = c.recorded.gap.After // To which the watcher will go back.
		}
		upTo = min(upTo, last)
	}
	_ = s.engine.Compact(context.Background(), upTo)
}

// record reads the events that came since the last time, and checks S1.
func (c *checker) record(e engine.Engine) error {
	for {
		last := c.recorded.last
		events, state, err := e.Events(context.Background(), last, 1000)
		if err != nil || len(events) == 0 {
			return err
		}
		c.recorded.gap = state.Gap
		for _, event := range events {
			if event.Revision != state.Gap.Over(last)+1 {
				c.t.Errorf("S1: revision %d follows %d", event.Revision, last)
			}
			last = event.Revision
		}
		c.recorded.events, c.recorded.last = append(c.recorded.events, events...), last
	}
}

// mark is the annotation that tells which write made a value.
const mark = "write"

// write changes random pods through random replicas until ctx ends.
func (c *checker) write(ctx context.Context, number int) {
	r := rand.New(rand.NewPCG(c.chaos.Seed, uint64(100+number)))
	for n := 0; ctx.Err() == nil; n++ {
		replica := c.replica(r)
		if replica == nil {
			continue
		}
		namespace, name := fmt.Sprint("ns", r.IntN(3)), fmt.Sprint("pod", r.IntN(chaosKeys))
		key := podKeyRoot + namespace + "/" + name
		pod := &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"a": fmt.Sprint("v", r.IntN(2))}}}
		id := fmt.Sprint(number, "-", n)
		pod.Annotations = map[string]string{mark: id}
		// Writes that were begun are waited for: the answer counts.
		opCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		out := &example.Pod{}
		var err error
		switch r.IntN(4) {
		case 0:
			err = replica.Delete(opCtx, key, out, nil, storage.ValidateAllObjectFunc, nil, storage.DeleteOptions{})
		case 1:
			err = replica.Create(opCtx, key, pod, out, 0)
		default:
			err = replica.GuaranteedUpdate(opCtx, key, out, true, nil, storage.SimpleUpdate(func(runtime.Object) (runtime.Object, error) {
				return pod.DeepCopy(), nil
			}), nil)
		}
		cancel()
		c.mu.Lock()
		c.written[id] = err == nil || apierrors.IsTimeout(err)
		if err == nil {
			c.acked = append(c.acked, ack{key, out.ResourceVersion})
		}
		c.mu.Unlock()
	}
}

const endNamespace = "zz-end"

// finish makes all replicas live and writes what tells the watchers to stop.
func (c *checker) finish() {
	for i := range c.slots {
		c.stop(i)
		c.restart(i)
	}
	for i := range 2 {
		pod := &example.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: endNamespace, Name: fmt.Sprint("pod", i), Labels: map[string]string{"a": fmt.Sprint("v", i)}}}
		if err := c.slots[0].resource.Create(context.Background(), podKeyRoot+pod.Namespace+"/"+pod.Name, pod, &example.Pod{}, 0); err != nil {
			c.t.Fatalf("write the end: %v", err)
		}
	}
}

func chaosSelector(i int) string { return []string{"", "a=v0", "a!=v0"}[i%3] }

// checkedWatcher watches over reconnects and remembers what it saw.
type checkedWatcher struct {
	checker  *checker
	number   int
	selector string
	// last is the revision that it has come to.
	last atomic.Int64
	seen []seenEvent
	// forgot is how often a failover was why history was gone.
	forgot int
}

type seenEvent struct {
	Type     watch.EventType
	Key      string
	Revision engine.Revision
}

func predicateOf(selector string) storage.SelectionPredicate {
	label, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	return storage.SelectionPredicate{Label: label, Field: fields.Everything(), GetAttrs: podAttributes, AllowWatchBookmarks: true}
}

func (w *checkedWatcher) run(ctx context.Context) {
	r := rand.New(rand.NewPCG(w.checker.chaos.Seed, uint64(200+w.number)))
	for ctx.Err() == nil {
		replica := w.checker.replica(r)
		if replica == nil {
			continue
		}
		// Reconnects even where nothing breaks.
		watchCtx, cancel := context.WithTimeout(ctx, time.Duration(300+r.IntN(3000))*time.Millisecond)
		ended := w.watch(watchCtx, replica)
		cancel()
		if ended {
			return
		}
	}
	w.checker.t.Errorf("watcher %d (%q) never saw the end; its last revision is %d", w.number, w.selector, w.last.Load())
}

// watch takes events until the stream ends, and reports whether it has seen the last of all.
func (w *checkedWatcher) watch(ctx context.Context, replica *store.Resource) bool {
	stream, err := replica.Watch(ctx, podKeyRoot, storage.ListOptions{
		Recursive: true, ResourceVersion: fmt.Sprint(w.last.Load()), Predicate: predicateOf(w.selector),
	})
	if err != nil {
		return false
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if status, ok := event.Object.(*metav1.Status); ok {
			return status.Reason == metav1.StatusReasonExpired && !w.forget(ctx, status.Message)
		}
		object := event.Object.(metav1.Object)
		revision, err := storage.APIObjectVersioner{}.ParseResourceVersion(object.GetResourceVersion())
		if err != nil {
			w.checker.t.Errorf("watcher %d: revision of %s: %v", w.number, object.GetName(), err)
			return true
		}
		w.last.Store(int64(revision))
		if event.Type == watch.Bookmark {
			continue
		}
		if object.GetNamespace() == endNamespace {
			return true
		}
		w.seen = append(w.seen, seenEvent{event.Type, object.GetNamespace() + "/" + object.GetName(), engine.Revision(revision)})
	}
	return false
}

// forget goes back to before what a failover lost, and reports whether that explains why history is gone. A primary
// that is killed, or whose connections are cut, shows commits that its standby may not get, and that nobody was told
// have happened: PostgreSQL's processes then stop waiting for the standby. Each replica has streams that came that far,
// with events that their clients may not have read, until it learns of the failover; after that none of them may end
// so.
func (w *checkedWatcher) forget(ctx context.Context, message string) bool {
	var gap engine.Gap
	err := wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		state, err := w.checker.state(ctx)
		gap = state.Gap
		return err == nil, nil
	})
	if err != nil {
		return true // The next stream tells.
	}
	last := engine.Revision(w.last.Load())
	if w.forgot++; !w.checker.chaos.MayLose || gap.To == 0 || w.forgot > w.checker.chaos.Replicas {
		w.checker.t.Errorf("watcher %d: history is gone at %d: %s", w.number, last, message)
		return false
	}
	if gap.Has(last) {
		w.last.Store(int64(gap.After))
	}
	w.seen = slices.DeleteFunc(w.seen, func(event seenEvent) bool { return gap.Has(event.Revision) })
	return true
}
