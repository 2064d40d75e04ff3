// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// defaultCapacity is the default of [SenderConfig].
	defaultCapacity = 10_000
	// maxQueueBytes bounds the results in the queue whatever their number.
	maxQueueBytes = 64 << 20
	// parallel is the number of concurrent requests.
	parallel = 4
	// gather is how long results wait for others about the same subject: the two webhooks are called at the
	// same time.
	gather = 100 * time.Millisecond
	// requestTimeout bounds one request.
	requestTimeout = 10 * time.Second
	// lastSend bounds how long results are sent at the end of the process.
	lastSend = 5 * time.Second
	// maxAge is how long results are kept while the API is unavailable.
	maxAge = 10 * time.Minute
	// The shortest and longest pause between two attempts.
	firstPause, longestPause = 500 * time.Millisecond, 30 * time.Second
)

// SenderConfig is what a [Sender] needs. Client is required.
type SenderConfig struct {
	// Client creates EphemeralReports.
	Client dynamic.Interface
	// Capacity is the number of subjects that can wait; 0 means 10,000.
	Capacity int
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

// Sender writes results of admission requests as EphemeralReports. It is safe for concurrent use.
type Sender struct {
	client dynamic.Interface
	clock  clock.WithTicker
	queue  *queue
	// told is true from the first logged failure until a write succeeds.
	told atomic.Bool
}

// NewSender returns a sender. Until [Sender.Run], it only queues.
func NewSender(config SenderConfig) *Sender {
	return &Sender{
		client: config.Client, clock: cmp.Or[clock.WithTicker](config.Clock, clock.RealClock{}),
		queue: newQueue(cmp.Or(config.Capacity, defaultCapacity), maxQueueBytes),
	}
}

// Send queues items about one subject, which must have a UID. It returns at once.
func (s *Sender) Send(items []Item) { s.queue.put(items, s.clock.Now()) }

// Run writes what is queued until ctx is done, and then the rest of the queue, for at most a few seconds.
func (s *Sender) Run(ctx context.Context) error {
	pause := firstPause
	for s.wait(ctx, gather) {
		if s.drain(ctx) {
			pause = firstPause
			continue
		}
		s.sleep(ctx, pause)
		pause = min(2*pause, longestPause)
	}
	s.queue.close()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSend)
	defer cancel()
	s.drain(last)
	for s.queue.take() != nil {
		dropped.WithLabelValues(dropShutdown).Inc()
	}
	return nil
}

// wait waits until there is something to write, and then a little longer. It returns false if ctx is done.
func (s *Sender) wait(ctx context.Context, after time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-s.queue.news.C():
		s.sleep(ctx, after)
	}
	return ctx.Err() == nil
}

func (s *Sender) sleep(ctx context.Context, d time.Duration) {
	timer := s.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// drain writes until the queue is empty. It returns false if something failed that is to be retried.
func (s *Sender) drain(ctx context.Context) bool {
	var group sync.WaitGroup
	var failed atomic.Bool
	for range parallel {
		group.Go(func() {
			for !failed.Load() && ctx.Err() == nil {
				w := s.queue.take()
				if w == nil {
					return
				}
				if !s.write(ctx, w) {
					failed.Store(true)
					s.queue.giveBack(w)
				}
			}
		})
	}
	group.Wait()
	if failed.Load() {
		s.queue.news.Fire() // There is something to do after the pause.
	}
	return !failed.Load()
}

// write writes what is queued about a subject. It returns false if it is to be retried.
func (s *Sender) write(ctx context.Context, w *waiting) bool {
	if s.clock.Since(w.since) > maxAge {
		dropped.WithLabelValues(dropExpired).Inc()
		return true
	}
	objects, left := encode(w.sorted())
	if left > 0 {
		dropped.WithLabelValues(dropTooLarge).Inc()
	}
	for _, object := range objects {
		err := s.create(ctx, object)
		reason, again := classify(err)
		switch {
		case err == nil:
			written.WithLabelValues("success").Inc()
			s.told.Store(false)
		case again:
			written.WithLabelValues("retry").Inc()
			s.logFirst(ctx, err, "Results of admission requests can't be handed over; will retry")
			return false
		default:
			written.WithLabelValues("dropped").Inc()
			dropped.WithLabelValues(reason).Inc()
			if reason != dropNamespace {
				s.logFirst(ctx, err, "Results of admission requests can't be handed over and are dropped")
			}
			return true
		}
	}
	return true
}

// logFirst logs the first of several failures in a row.
func (s *Sender) logFirst(ctx context.Context, err error, text string) {
	if ctx.Err() == nil && !s.told.Swap(true) {
		klog.FromContext(ctx).Error(err, text)
	}
}

func (s *Sender) create(ctx context.Context, object *unstructured.Unstructured) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_, err := at(s.client, object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create an EphemeralReport: %w", err)
	}
	return nil
}

// classify returns why results are dropped after an error, or whether the write is to be retried.
func classify(err error) (reason string, again bool) {
	switch {
	case err == nil:
		return "", false
	case policy.NamespaceGone(err):
		return dropNamespace, false
	case apierrors.IsNotFound(err):
		return dropNotServed, false
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err), apierrors.IsMethodNotSupported(err):
		return dropRefused, false
	default: // Including missing permissions, which may be granted later.
		return "", true
	}
}
