// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package source

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

	"github.com/docket-project/docket/controller/internal/cluster/served"
)

const (
	// patience is how long a list may fail for a temporary reason, and patienceWithSilence how long it may
	// take, before those that wait for all kinds go on without this one.
	patience            = 30 * time.Second
	patienceWithSilence = 2 * time.Minute
	// minBackoff and maxBackoff are the shortest and longest pause between two attempts. The longest one is
	// shorter than a reflector's default, so that work resumes soon after an API server is back.
	minBackoff, maxBackoff = 800 * time.Millisecond, 15 * time.Second
)

// The operations that [Config.Failed] is called with.
const (
	OperationList  = "list"
	OperationWatch = "watch"
)

// Config is what a [Source] works with.
type Config struct {
	Resource served.Resource
	// Namespace limits the source to one namespace; empty for all.
	Namespace string
	// Labels and Fields are the selectors of lists and watches; empty for all objects.
	Labels, Fields string
	// PageSize is how many objects a list reads at a time; 0 means 250.
	PageSize int64
	Client   dynamic.Interface
	Clock    clock.WithTicker
	// Listing, if not nil, is called when a list begins.
	Listing func()
	// Changed is called when the source is listed, when it begins to fail or fails for another reason, with
	// the error, and when it no longer fails.
	Changed func(error)
	// Failed, if not nil, is called for each request that fails. [Source.State] has the error.
	Failed func(operation string)
}

// Source keeps a store in sync with the objects of one resource until it is stopped. After a failure, it
// retries without end.
type Source struct {
	config Config

	cancel context.CancelFunc
	ended  sync.WaitGroup
	// listing is held during a list. A reflector that is stopped doesn't wait for the goroutine that lists for it,
	// which may even begin after the reflector has ended.
	listing sync.Mutex

	mu sync.Mutex
	// listed is true once the store has been complete, also while the API server does not answer later.
	listed bool
	// err is the error of the last request; since is when requests began to fail, or the source was started.
	err   error
	since time.Time
}

// New returns a source that does nothing until [Source.Start].
func New(config Config) *Source { return &Source{config: config} }

// Resource returns the resource that is watched.
func (s *Source) Resource() served.Resource { return s.config.Resource }

// Start keeps the store in sync until Stop is called or ctx is done. The source is listed once the store has
// everything.
func (s *Source) Start(ctx context.Context, store Store) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.since = s.config.Clock.Now()
	resource := s.config.Resource
	logger := klog.LoggerWithValues(klog.FromContext(ctx), "resource", resource.GroupVersionResource)
	kept := reflected{Store: store, source: s}
	list := func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
		return s.list(ctx, kept.Transformer())
	}
	reflector := cache.NewReflectorWithOptions(
		pages{&cache.ListWatch{ListWithContextFunc: list, WatchFuncWithContext: s.watch}}, nil, kept,
		cache.ReflectorOptions{
			Logger: &logger, Name: resource.GroupResource().String(), TypeDescription: resource.GVK().String(),
			Clock: contextClock{WithTicker: s.config.Clock, ctx: ctx},
			Backoff: &wait.Backoff{
				Duration: minBackoff, Cap: maxBackoff, Factor: 2, Jitter: 1,
				Steps: int(math.Ceil(float64(maxBackoff) / float64(minBackoff))),
			},
		})
	s.ended.Go(func() { reflector.RunWithContext(klog.NewContext(ctx, logger)) })
}

// Stop stops the source. Once it has returned, nothing of the store, its transformer included, and no function of the
// [Config] is running or will be called.
func (s *Source) Stop() {
	s.cancel()
	s.ended.Wait()
	s.listing.Lock() // A list that comes later finds that the context is done.
	defer s.listing.Unlock()
}

func (s *Source) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.LabelSelector, options.FieldSelector = s.config.Labels, s.config.Fields
	watcher, err := s.client().Watch(ctx, options)
	s.note(ctx, OperationWatch, err)
	return watcher, err
}

func (s *Source) client() dynamic.ResourceInterface {
	return s.config.Client.Resource(s.config.Resource.GroupVersionResource).Namespace(s.config.Namespace)
}

// note records the outcome of a request.
func (s *Source) note(ctx context.Context, operation string, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // Neither is a failure of the resource: an expired version only requires a new list.
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w", operation, s.config.Resource.GroupResource(), err)
	}
	s.mu.Lock()
	news := (err == nil) != (s.err == nil) || apierrors.ReasonForError(err) != apierrors.ReasonForError(s.err)
	if err != nil && s.err == nil {
		s.since = s.config.Clock.Now()
	}
	s.err = err
	s.mu.Unlock()
	if err != nil && s.config.Failed != nil {
		s.config.Failed(operation)
	}
	if news {
		s.config.Changed(err)
	}
}

// setListed is called when the store has everything.
func (s *Source) setListed() {
	s.mu.Lock()
	news := !s.listed
	s.listed = true
	s.mu.Unlock()
	if news {
		s.config.Changed(nil)
	}
}

// State returns whether the store has everything, and the error of the last request.
func (s *Source) State() (listed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed, s.err
}

// Decided reports whether there is no point in waiting for the list: it is there, was refused, or has failed
// for long.
func (s *Source) Decided() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	waited := s.config.Clock.Since(s.since)
	return s.listed || Refused(s.err) || waited >= patienceWithSilence || (s.err != nil && waited >= patience)
}

// Missing reports whether an error says that the API doesn't have the resource.
func Missing(err error) bool { return apierrors.IsNotFound(err) }

// Refused reports whether an error is unlikely to be different after a retry.
func Refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || Missing(err) || apierrors.IsMethodNotSupported(err)
}

// contextClock is a clock whose After ends with a context, since the reflector waits for nothing else before it
// repeats a watch.
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
