// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package handoff

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/controller/internal/cluster/broadcast"
	"github.com/docket-project/docket/controller/internal/cluster/shard"
	"github.com/docket-project/docket/controller/internal/policy"
)

const (
	// maxHeld is the number of EphemeralReports that are read and not deleted yet; the others wait in the API.
	maxHeld = 10_000
	// holdLimit is how long one may stay undecided.
	holdLimit = 10 * time.Minute
	// flushLimit bounds how long the inbox waits for reports to be written before it handles others.
	flushLimit = time.Minute
	// tick is how often these limits are checked, and failures are retried.
	tick = 5 * time.Second
)

// InboxConfig is what an [Inbox] needs. Client and Sink are required.
type InboxConfig struct {
	// Client lists, watches and deletes EphemeralReports.
	Client dynamic.Interface
	// Sink receives the results of an EphemeralReport. It calls decided once, when each of them is applied or
	// dropped, possibly before it returns.
	Sink func(items []policy.Admitted, decided func())
	// Shards have the namespaces whose EphemeralReports are read; the zero value means all.
	Shards shard.Set
	// Flushed returns when everything that was decided before is written into reports. Until then,
	// EphemeralReports are kept. It may be nil if there is nothing to wait for.
	Flushed func(ctx context.Context) error
	// Kyverno has the EphemeralReports of Kyverno's admission and background controllers taken instead of ours.
	// While its reports controller seems to run, they are left to it for a minute after they were read.
	Kyverno bool
	// Replace has reports of Kyverno's reports controller taken instead, from before it was switched off.
	Replace bool
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

// holding is an EphemeralReport that was read, without its results.
type holding struct {
	resource        schema.GroupVersionResource
	namespace, name string
	uid             types.UID
	since           time.Time
	// result is the outcome; empty until it is decided.
	result string
}

// Inbox is the side of the leader. Make one with [NewInbox] for each call of [Inbox.Run].
type Inbox struct {
	config InboxConfig
	origin *origin
	// rival reports whether Kyverno's reports controller runs, too.
	rival rival
	// slots has an element for each holding.
	slots chan struct{}
	// news is fired when there may be holdings to delete.
	news *broadcast.Trigger

	mu       sync.Mutex
	holdings map[types.UID]*holding
	// ended are to be deleted; unflushed are decided, but their results may not be written yet.
	ended, unflushed []*holding
}

// NewInbox returns an inbox that does nothing until [Inbox.Run].
func NewInbox(config InboxConfig) *Inbox { return newInbox(config, maxHeld) }

func newInbox(config InboxConfig, capacity int) *Inbox {
	config.Clock = cmp.Or[clock.WithTicker](config.Clock, clock.RealClock{})
	from := ours
	if config.Kyverno {
		from = kyvernos
	}
	if config.Replace {
		from = replaced
	}
	return &Inbox{
		config: config, origin: from, slots: make(chan struct{}, capacity), news: broadcast.NewTrigger(), holdings: map[types.UID]*holding{},
	}
}

// Run reads EphemeralReports until ctx is done. The next leader reads those that are not deleted by then.
func (i *Inbox) Run(ctx context.Context) error {
	i.rival.begin(i.config.Clock.Now())
	var group sync.WaitGroup
	for _, resource := range i.origin.resourcesOf() {
		group.Go(func() { i.follow(ctx, resource) })
	}
	group.Go(func() { i.deleteDecided(ctx) })
	group.Wait()
	i.origin.held.Set(0)
	return nil
}

// take passes the results of an EphemeralReport to the sink, unless it was taken before. It waits while too many are
// held.
func (i *Inbox) take(ctx context.Context, resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	if object.GetLabels()[managedByLabel] != i.origin.manager || object.GetDeletionTimestamp() != nil {
		return
	}
	i.rival.see(object, i.config.Clock.Now())
	if !i.config.Shards.Owns(object.GetNamespace()) {
		return
	}
	h := &holding{resource: resource, namespace: object.GetNamespace(), name: object.GetName(), uid: object.GetUID()}
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
	i.origin.held.Set(float64(len(i.holdings)))
	i.mu.Unlock()
	items, err := i.origin.decode(object, h.since)
	if err != nil {
		klog.FromContext(ctx).Error(err, "An EphemeralReport is damaged or from somebody else; deleting it", "report", klog.KRef(h.namespace, h.name), "manager", i.origin.manager)
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

// end records the outcome of an EphemeralReport, unless it has one.
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

// deleteDecided deletes EphemeralReports that are decided and whose results are written, until ctx is done.
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

// expire ends those that have been undecided for too long.
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

// flush waits until the results of decided ones are written.
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
		i.origin.errors.WithLabelValues("flush").Inc()
		klog.FromContext(ctx).Error(err, "Keeping EphemeralReports whose results may not be written yet")
	}
}

// remove deletes those that have ended. What can't be deleted, or is left to somebody else for now, is retried at the
// next tick.
func (i *Inbox) remove(ctx context.Context) {
	var batch, rest []*holding
	now := i.config.Clock.Now()
	i.mu.Lock()
	for _, h := range i.ended {
		if i.config.Kyverno && now.Sub(h.since) < i.rival.patience(now) {
			rest = append(rest, h)
		} else {
			batch = append(batch, h)
		}
	}
	i.ended = rest
	i.mu.Unlock()
	var group errgroup.Group
	group.SetLimit(parallel)
	for _, h := range batch {
		group.Go(func() error {
			i.gone(ctx, h, i.delete(ctx, h))
			return nil
		})
	}
	_ = group.Wait() // They return no error.
}

func (i *Inbox) delete(ctx context.Context, h *holding) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := i.config.Client.Resource(h.resource).Namespace(h.namespace).Delete(ctx, h.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &h.uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // It is gone; another one may have its name.
	}
	return err
}

// gone records how a deletion went.
func (i *Inbox) gone(ctx context.Context, h *holding, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if err != nil {
		i.ended = append(i.ended, h)
		if ctx.Err() == nil {
			i.origin.errors.WithLabelValues("delete").Inc()
			klog.FromContext(ctx).V(1).Info("An EphemeralReport can't be deleted; will retry", "report", klog.KRef(h.namespace, h.name), "err", fmt.Sprint(err))
		}
		return
	}
	i.origin.read.WithLabelValues(h.result).Inc()
	delete(i.holdings, h.uid)
	<-i.slots
	i.origin.held.Set(float64(len(i.holdings)))
}
