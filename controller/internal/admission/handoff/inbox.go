// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/broadcast"
	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// maxHeld is how many EphemeralReports are read and not yet deleted; the others wait in the API.
	maxHeld = 10_000
	// holdLimit is for how long nothing may be decided about one.
	holdLimit = 10 * time.Minute
	// flushLimit is for how long reports are waited for before others are looked after.
	flushLimit = time.Minute
	// tick is how often that is looked at, and what failed is retried.
	tick = 5 * time.Second
)

// InboxConfig is what an [Inbox] needs. Client and Sink are required.
type InboxConfig struct {
	// Client lists, watches and deletes EphemeralReports.
	Client dynamic.Interface
	// Sink takes what a report says, and calls decided, once, when all of it counts or never will. It
	// may do so before it returns.
	Sink func(items []policy.Admitted, decided func())
	// Flushed returns when all that was decided before has been written into reports; nil if there is
	// nothing to wait for. Until then EphemeralReports are kept.
	Flushed func(ctx context.Context) error
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

// holding is an EphemeralReport that was read. It has none of what it says.
type holding struct {
	namespace, name string
	uid             types.UID
	since           time.Time
	// result is what became of it; empty until that is decided.
	result string
}

// Inbox is the leader's side. Make one with [NewInbox] for each call of [Inbox.Run].
type Inbox struct {
	config InboxConfig
	// slots has an element for each holding.
	slots chan struct{}
	// news is fired when there may be holdings to delete.
	news *broadcast.Trigger

	mu       sync.Mutex
	holdings map[types.UID]*holding
	// ended are those that are to be deleted; unflushed, those whose results may not be written yet.
	ended, unflushed []*holding
}

// NewInbox returns an inbox that does nothing until [Inbox.Run].
func NewInbox(config InboxConfig) (*Inbox, error) { return newInbox(config, maxHeld) }

func newInbox(config InboxConfig, capacity int) (*Inbox, error) {
	if config.Client == nil || config.Sink == nil {
		return nil, errors.New("handoff: config of the inbox: Client and Sink are required")
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	return &Inbox{
		config: config, slots: make(chan struct{}, capacity), news: broadcast.NewTrigger(), holdings: map[types.UID]*holding{},
	}, nil
}

// Run reads EphemeralReports until ctx is done. What has not been deleted by then is read again by
// the next leader.
func (i *Inbox) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, namespaced := range []bool{false, true} {
		group.Go(func() { i.follow(ctx, resourceOf(namespaced)) })
	}
	group.Go(func() { i.deleteDecided(ctx) })
	group.Wait()
	held.Set(0)
	return nil
}

// take hands on what a report says, unless it was taken before. It waits while too many are held.
func (i *Inbox) take(ctx context.Context, object *unstructured.Unstructured) {
	if object.GetLabels()[managedByLabel] != manager || object.GetDeletionTimestamp() != nil {
		return
	}
	h := &holding{namespace: object.GetNamespace(), name: object.GetName(), uid: object.GetUID()}
	if i.holds(h.uid) {
		return
	}
	select {
	case <-ctx.Done():
		return
	case i.slots <- struct{}{}:
	}
	h.since = i.config.Clock.Now()
	i.mu.Lock()
	i.holdings[h.uid] = h
	held.Set(float64(len(i.holdings)))
	i.mu.Unlock()
	items, err := decode(object, h.since)
	if err != nil {
		klog.FromContext(ctx).Error(err, "An EphemeralReport with our label is not ours, or damaged; it is deleted", "report", klog.KRef(h.namespace, h.name))
		i.end(h.uid, readMalformed)
		return
	}
	i.config.Sink(items, func() { i.end(h.uid, readMerged) })
}

func (i *Inbox) holds(uid types.UID) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.holdings[uid] != nil
}

// end notes what became of a report, of which that was not known.
func (i *Inbox) end(uid types.UID, result string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	h := i.holdings[uid]
	if h == nil || h.result != "" {
		return
	}
	i.endLocked(h, result)
}

// endLocked is called with i.mu.
func (i *Inbox) endLocked(h *holding, result string) {
	h.result = result
	if result == readMerged && i.config.Flushed != nil {
		i.unflushed = append(i.unflushed, h)
	} else {
		i.ended = append(i.ended, h)
	}
	i.news.Fire()
}

// deleteDecided deletes what is decided.
func (i *Inbox) deleteDecided(ctx context.Context) {
	ticker := i.config.Clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.news.C():
		case <-ticker.C():
			i.expire()
		}
		i.flush(ctx)
		i.remove(ctx)
	}
}

// expire ends what nothing is decided about.
func (i *Inbox) expire() {
	now := i.config.Clock.Now()
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, h := range i.holdings {
		if h.result == "" && now.Sub(h.since) > holdLimit {
			i.endLocked(h, readExpired)
		}
	}
}

// flush waits until what is decided is written.
func (i *Inbox) flush(ctx context.Context) {
	i.mu.Lock()
	batch := i.unflushed
	i.unflushed = nil
	i.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	limited, cancel := context.WithTimeout(ctx, flushLimit)
	err := i.config.Flushed(limited)
	cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	if err == nil {
		i.ended = append(i.ended, batch...)
		return
	}
	i.unflushed = append(batch, i.unflushed...) // Until the next tick.
	if ctx.Err() == nil {
		readErrors.WithLabelValues("flush").Inc()
		klog.FromContext(ctx).Error(err, "EphemeralReports are kept, since their results may not be written yet")
	}
}

// remove deletes what has ended. What can't be deleted stays for the next tick.
func (i *Inbox) remove(ctx context.Context) {
	i.mu.Lock()
	batch := i.ended
	i.ended = nil
	i.mu.Unlock()
	if len(batch) == 0 {
		return
	}
	jobs := make(chan *holding, len(batch))
	for _, h := range batch {
		jobs <- h
	}
	close(jobs)
	var group sync.WaitGroup
	for range parallel {
		group.Go(func() {
			for h := range jobs {
				i.gone(ctx, h, i.delete(ctx, h))
			}
		})
	}
	group.Wait()
}

func (i *Inbox) delete(ctx context.Context, h *holding) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := at(i.config.Client, h.namespace).Delete(ctx, h.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &h.uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // Another one has its name, at most.
	}
	return err
}

// gone notes how a deletion went.
func (i *Inbox) gone(ctx context.Context, h *holding, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err != nil {
		i.ended = append(i.ended, h)
		if ctx.Err() == nil {
			readErrors.WithLabelValues("delete").Inc()
			klog.FromContext(ctx).V(1).Info("An EphemeralReport can't be deleted; will retry", "report", klog.KRef(h.namespace, h.name), "err", fmt.Sprint(err))
		}
		return
	}
	read.WithLabelValues(h.result).Inc()
	delete(i.holdings, h.uid)
	<-i.slots
	held.Set(float64(len(i.holdings)))
}
