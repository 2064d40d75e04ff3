// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

const (
	// patience is how long a kind may fail to be listed for a passing reason, and
	// patienceWithSilence how long its list may take, before it no longer holds up what waits
	// for all kinds.
	patience            = 30 * time.Second
	patienceWithSilence = 2 * time.Minute
	// The shortest and longest time between two attempts. Shorter at the end than a reflector's
	// default: the scan should go on soon after an API server is back.
	minBackoff, maxBackoff = 800 * time.Millisecond, 15 * time.Second
)

// source keeps a store like the objects of one resource, until it is stopped.
type source struct {
	resource resource
	client   dynamic.Interface
	clock    clock.WithTicker
	// changed is called when the source is listed, fails in another way, or works again, with
	// the error if there is one.
	changed func(error)

	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu sync.Mutex
	// listed stays true: what is known remains known while the API server is away.
	listed bool
	// err is what the last request came to, since when requests fail or the source started.
	err   error
	since time.Time
}

func newSource(r resource, client dynamic.Interface, c clock.WithTicker, changed func(error)) *source {
	return &source{resource: r, client: client, clock: c, changed: changed}
}

// start fills the store until stop or the end of ctx.
func (s *source) start(ctx context.Context, store cache.ReflectorStore) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.since = s.clock.Now()
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "resource", s.resource.GroupVersionResource)
	reflector := cache.NewReflectorWithOptions(
		cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch}, s.client),
		nil, store,
		cache.ReflectorOptions{
			Logger: &logger, Name: s.resource.GroupResource().String(), TypeDescription: s.resource.gvk().String(),
			Clock: contextClock{WithTicker: s.clock, ctx: ctx},
			Backoff: &wait.Backoff{
				Duration: minBackoff, Cap: maxBackoff, Factor: 2, Jitter: 1,
				Steps: int(math.Ceil(float64(maxBackoff) / float64(minBackoff))),
			},
		})
	s.ended.Go(func() { reflector.RunWithContext(klog.NewContext(ctx, logger)) })
}

// stop returns when nothing is added to the store any more.
func (s *source) stop() {
	s.cancel()
	s.ended.Wait()
}

func (s *source) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list, err := s.client.Resource(s.resource.GroupVersionResource).List(ctx, options)
	if s.note(ctx, operationList, err); err != nil {
		return nil, err // Not a list that is nil and yet an object.
	}
	return list, nil
}

func (s *source) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	watcher, err := s.client.Resource(s.resource.GroupVersionResource).Watch(ctx, options)
	s.note(ctx, operationWatch, err)
	return watcher, err
}

// note keeps the outcome of a request.
func (s *source) note(ctx context.Context, operation string, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // Neither says anything about the resource: the latter asks for a new list.
	}
	if err != nil {
		scanErrors.WithLabelValues(operation).Inc()
		err = fmt.Errorf("%s %s: %w", operation, s.resource.GroupResource(), err)
	}
	s.mu.Lock()
	news := (err == nil) != (s.err == nil) || apierrors.ReasonForError(err) != apierrors.ReasonForError(s.err)
	if err != nil && s.err == nil {
		s.since = s.clock.Now()
	}
	s.err = err
	s.mu.Unlock()
	if news {
		s.changed(err)
	}
}

// setListed is called by the store once it has everything.
func (s *source) setListed() {
	s.mu.Lock()
	news := !s.listed
	s.listed = true
	s.mu.Unlock()
	if news {
		s.changed(nil)
	}
}

// state returns whether the store has everything, and the error of the last request.
func (s *source) state() (listed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed, s.err
}

// decided tells whether there is no point in waiting for the list: it is there, is refused, or
// has failed for long.
func (s *source) decided() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waited := s.clock.Since(s.since)
	return s.listed || refused(s.err) || waited >= patienceWithSilence || (s.err != nil && waited >= patience)
}

// missing tells whether the API doesn't have what it was asked for.
func missing(err error) bool { return apierrors.IsNotFound(err) }

// refused tells whether an error is an answer that a retry will hardly change.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || missing(err) || apierrors.IsMethodNotSupported(err)
}

// contextClock is a clock whose After ends with a context: the reflector waits for that alone
// before it repeats a watch.
type contextClock struct {
	clock.WithTicker
	ctx context.Context //nolint:containedctx // After has no parameter for it.
}

// After returns a channel that has a value once d has passed or the context is done.
func (c contextClock) After(d time.Duration) <-chan time.Time {
	fired := make(chan time.Time, 1)
	timer := c.NewTimer(d)
	go func() {
		defer timer.Stop()
		select {
		case now := <-timer.C():
			fired <- now
		case <-c.ctx.Done():
			fired <- c.Now()
		}
	}()
	return fired
}
