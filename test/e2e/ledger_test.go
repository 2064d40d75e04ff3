// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/docket-project/docket/internal/kit/testkit"
)

const counterLabel = "example.com/counter"

// ledger writes reports without end and keeps what was acknowledged.
type ledger struct {
	reports reports
	pause   time.Duration // between two writes of a writer

	mu         sync.Mutex // guards the fields below
	counters   map[string]int
	deleted    map[string]bool
	retried    map[string]int // retriable errors by their reason
	unexpected []string       // errors that no client would retry
	writes     int
}

// startLedger starts writers that go on until stop is called.
func startLedger(t testing.TB, r reports, writers int, pause time.Duration) (l *ledger, stop func()) {
	t.Helper()
	l = &ledger{reports: r, pause: pause, counters: map[string]int{}, deleted: map[string]bool{}, retried: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for writer := range writers {
		group.Go(func() { l.write(ctx, writer) })
	}
	stop = func() {
		cancel()
		group.Wait()
	}
	t.Cleanup(stop)
	return l, stop
}

// write creates reports, and raises the counter of earlier ones; every tenth goes
// again.
func (l *ledger) write(ctx context.Context, writer int) {
	for n := 0; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("w%d-%d", writer, n)
		l.create(ctx, name)
		if n > 3 {
			l.raise(ctx, fmt.Sprintf("w%d-%d", writer, n-3))
		}
		if n%10 == 9 {
			l.delete(ctx, fmt.Sprintf("w%d-%d", writer, n-5))
		}
		select {
		case <-time.After(l.pause):
		case <-ctx.Done():
		}
	}
}

func (l *ledger) create(ctx context.Context, name string) {
	object := l.reports.object(name)
	setCounter(object, 0)
	l.until(ctx, "create", func() error {
		_, err := l.reports.Create(ctx, object, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // By an attempt whose answer was lost.
		}
		return err
	}, func() { l.counters[name] = 0 })
}

func (l *ledger) raise(ctx context.Context, name string) {
	next := 0
	l.until(ctx, "update", func() error {
		object, err := l.reports.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		next = counterOf(object) + 1
		setCounter(object, next)
		_, err = l.reports.Update(ctx, object, metav1.UpdateOptions{})
		return err
	}, func() { l.counters[name] = next })
}

func (l *ledger) delete(ctx context.Context, name string) {
	// From now on it may be gone without an answer; the counter says nothing more.
	l.mu.Lock()
	delete(l.counters, name)
	l.mu.Unlock()
	l.until(ctx, "delete", func() error {
		err := l.reports.Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil // By an attempt whose answer was lost: this writer created it.
		}
		return err
	}, func() { l.deleted[name] = true })
}

// until repeats attempt until it succeeds, then lets note keep it.
func (l *ledger) until(ctx context.Context, what string, attempt func() error, note func()) {
	for {
		err := attempt()
		l.mu.Lock()
		if err == nil {
			note()
			l.writes++
			l.mu.Unlock()
			return
		}
		if ctx.Err() == nil {
			l.noteError(what, err)
		}
		l.mu.Unlock()
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			// What is under way now may be done or not.
			return
		}
	}
}

func (l *ledger) noteError(what string, err error) {
	if retriable(err) {
		l.retried[fmt.Sprintf("%s: %.160s", what, err)]++
		return
	}
	if len(l.unexpected) < 10 {
		l.unexpected = append(l.unexpected, what+": "+err.Error())
	}
}

// retriable reports whether clients try again after the error: the server was not
// there, or was busy, or somebody else was faster.
func retriable(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true // No answer.
	}
	code := status.Status().Code
	return code >= 500 || code == 429 || apierrors.IsConflict(err) || utilnet.IsConnectionReset(err)
}

// waitFor returns when n more writes have been acknowledged.
func (l *ledger) waitFor(t testing.TB, n int) {
	t.Helper()
	first := l.count()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		return l.count() >= first+n, nil
	})
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.Fatalf("%d writes instead of %d (%v); retried: %v, unexpected: %v", l.writes-first, n, err, l.retried, l.unexpected)
	}
}

func (l *ledger) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writes
}

// check compares everything that was acknowledged with the stored reports.
func (l *ledger) check(t testing.TB) {
	t.Helper()
	list := testkit.Must(l.reports.List(t.Context(), metav1.ListOptions{}))(t)
	l.mu.Lock()
	defer l.mu.Unlock()
	stored := map[string]int{}
	for i := range list.Items {
		stored[list.Items[i].GetName()] = counterOf(&list.Items[i])
	}
	for name, want := range l.counters {
		// The last write of a writer may have been done without an answer.
		if got, ok := stored[name]; !ok || got < want || got > want+1 {
			t.Errorf("acknowledged: %s with counter %d; stored: %v, %d", name, want, ok, got)
		}
	}
	for name := range l.deleted {
		if _, ok := stored[name]; ok {
			t.Errorf("%s was deleted and is there", name)
		}
	}
	for _, text := range l.unexpected {
		t.Errorf("a client saw an error that it would not retry: %s", text)
	}
	t.Logf("%d writes acknowledged, %d reports stored, retried: %v", l.writes, len(stored), maps.Clone(l.retried))
}

func setCounter(object *unstructured.Unstructured, n int) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[counterLabel] = strconv.Itoa(n)
	object.SetLabels(labels)
}

func counterOf(object *unstructured.Unstructured) int {
	n, err := strconv.Atoi(object.GetLabels()[counterLabel])
	if err != nil {
		return -1
	}
	return n
}

// follower is an informer as controllers have one.
type follower struct {
	store cache.Store
	// starts counts how often it asked for all objects: again after a 410.
	starts *atomic.Int32
}

// startFollower starts an informer; it ends with the test.
func startFollower(t testing.TB, r reports) follower {
	t.Helper()
	store, starts := cache.NewStore(cache.MetaNamespaceKeyFunc), &atomic.Int32{}
	reflector := cache.NewReflector(cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			starts.Add(1)
			return r.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if options.SendInitialEvents != nil && *options.SendInitialEvents {
				starts.Add(1)
			}
			return r.Watch(ctx, options)
		},
	}, r), &unstructured.Unstructured{}, store, 0)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		reflector.RunWithContext(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return follower{store, starts}
}

// check waits until the informer shows what a list shows.
func (f follower) check(t testing.TB, r reports) {
	t.Helper()
	waitSettled(t, 100*time.Millisecond, func() string { return f.difference(t, r) })
}

// checkWentOn checks that nothing made the informer begin again.
func (f follower) checkWentOn(t testing.TB) {
	t.Helper()
	if starts := f.starts.Load(); starts != 1 {
		t.Errorf("the informer asked for all objects %d times", starts)
	}
}

func (f follower) difference(t testing.TB, r reports) string {
	t.Helper()
	list, err := r.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	if have := len(f.store.List()); have != len(list.Items) {
		return fmt.Sprintf("%d objects, %d in the list", have, len(list.Items))
	}
	for i := range list.Items {
		item, ok, _ := f.store.Get(&list.Items[i])
		if !ok {
			return list.Items[i].GetName() + " is missing"
		}
		if cached, ok := item.(*unstructured.Unstructured); !ok || cached.GetResourceVersion() != list.Items[i].GetResourceVersion() {
			return list.Items[i].GetName() + " is not the newest"
		}
	}
	return ""
}
