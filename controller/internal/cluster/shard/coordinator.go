// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/klog/v2"
)

// The times of a Lease, by which a replica that died is replaced within 15 s, and one that can't renew has ended
// before another begins: it notices within deadline, a pause and the time of two requests, each of them limited to
// retry.
const (
	// duration is how long a Lease lasts after it was renewed, in whole seconds.
	duration = 8 * time.Second
	// deadline is how long a Lease may go unrenewed until the work ends.
	deadline = 4 * time.Second
	// retry is the pause between two attempts.
	retry = time.Second
)

var (
	// ErrEnding is the cause of a context of work if the process was told to end: all leases are still held, and
	// given back when the work has ended.
	ErrEnding = errors.New("the process is ending")
	// ErrReassigned is the cause of a context of work if the set changes: all leases are still held. The work is
	// started again with the new set.
	ErrReassigned = errors.New("the replica gets other shards")
	// ErrLost is returned if a lease was lost.
	ErrLost = errors.New("a lease was lost: another replica works now, or the cluster did not answer in time; restart to stand by")
)

// Config is what [Run] needs. All fields are required.
type Config struct {
	// Leases is the client for the namespace of the controller.
	Leases coordinationclient.LeaseInterface
	// Name is the name of the first shard's Lease. The others are called Name-1, Name-2, …
	Name string
	// Identity is unique among all replicas, and over time.
	Identity string
	// Count is the number of shards, up to [MaxCount].
	Count int
}

// Run calls work with the shards that this replica holds, whenever it holds any, and once more whenever they change.
// Two replicas never work for the same shard at the same time, as long as work returns soon after its context is
// done. It returns when ctx is done, when work returns by itself, or with [ErrLost]; in all cases after work has
// returned. Leases that are still held are given back last.
func Run(ctx context.Context, config Config, work func(ctx context.Context, held Set) error) error {
	c := &coordinator{config: config, work: work}
	for i := range config.Count {
		name := config.Name
		if i > 0 {
			name = fmt.Sprintf("%s-%d", name, i)
		}
		c.leases = append(c.leases, &lease{shard: i, name: name})
	}
	return c.run(ctx)
}

// coordinator is one call of [Run]. Its fields belong to the goroutine of that.
type coordinator struct {
	config Config
	work   func(context.Context, Set) error
	leases []*lease

	// working is the work in progress; nil for none.
	working *working
	// gathering is true while the last tick took a shard: the next one may take another, so that work waits.
	gathering bool
	// leader is who held the first shard when it was logged last.
	leader string
	// failed is the error of the last requests, which is logged once.
	failed string
}

// working is one call of work.
type working struct {
	set   Set
	stop  context.CancelCauseFunc
	ended chan error
	// stopped is true once it was told to end.
	stopped bool
}

func (c *coordinator) run(ctx context.Context) error {
	// The leases are held until the work has ended.
	holding := context.WithoutCancel(ctx)
	defer c.giveBack(holding, func(*lease) bool { return true })
	ticker := time.NewTicker(retry)
	defer ticker.Stop()
	for ctx.Err() == nil || c.working != nil {
		if ctx.Err() != nil {
			c.stop(ErrEnding)
		}
		c.tick(holding, ctx.Err() == nil)
		if c.lost() {
			return c.abandon()
		}
		if ctx.Err() == nil {
			c.start(holding)
			c.giveBack(holding, c.isFree)
		}
		select {
		case <-ticker.C:
		case err := <-c.ended():
			expected := c.working.stopped
			c.working.stop(nil)
			c.working = nil
			if err != nil || !expected {
				return err
			}
			c.giveBack(holding, c.isFree)
		case <-c.told(ctx):
		}
	}
	return nil
}

// isFree reports whether a shard can be given back as it is to be: no work is for it any more.
func (c *coordinator) isFree(l *lease) bool {
	return l.giving && (c.working == nil || !slices.Contains(c.working.set.Held, l.shard))
}

// told returns the channel that is closed when the process has to end; nil once the work knows.
func (c *coordinator) told(ctx context.Context) <-chan struct{} {
	if c.working != nil && c.working.stopped {
		return nil
	}
	return ctx.Done()
}

// ended returns the channel that has the end of the work; nil if there is none.
func (c *coordinator) ended() <-chan error {
	if c.working == nil {
		return nil
	}
	return c.working.ended
}

// start starts work for the shards that are held, or tells work for others to end.
func (c *coordinator) start(ctx context.Context) {
	want := c.wanted()
	switch {
	case c.working != nil && !c.working.set.Equal(want):
		c.stop(ErrReassigned)
	case c.working == nil && len(want.Held) > 0 && !(c.gathering && len(want.Held) < want.Count):
		working := &working{set: want, ended: make(chan error, 1)}
		var leading context.Context
		leading, working.stop = context.WithCancelCause(ctx)
		go func() { working.ended <- c.work(leading, want) }()
		c.working = working
	}
}

// wanted returns the shards that are held and not to be given back.
func (c *coordinator) wanted() Set {
	set := Set{Count: c.config.Count}
	for _, l := range c.leases {
		if l.held && !l.giving {
			set.Held = append(set.Held, l.shard)
		}
	}
	return set
}

func (c *coordinator) stop(cause error) {
	if c.working != nil {
		c.working.stop(cause)
		c.working.stopped = true
	}
}

// lost reports whether a lease that is held is somebody else's, or soon may be.
func (c *coordinator) lost() bool {
	return slices.ContainsFunc(c.leases, func(l *lease) bool {
		return l.held && (identityIn(l.object) != c.config.Identity || time.Since(l.renewed) > deadline)
	})
}

// abandon ends the work after a lease was lost.
func (c *coordinator) abandon() error {
	for _, l := range c.leases {
		if identityIn(l.object) != c.config.Identity {
			l.held = false
		}
	}
	if c.working != nil {
		c.working.stop(ErrLost)
		if err := <-c.working.ended; err != nil {
			return err
		}
	}
	return ErrLost
}

// tick renews what is held, and, if more is set, takes, gives or asks for shards.
func (c *coordinator) tick(ctx context.Context, more bool) {
	err := c.each(ctx, func(ctx context.Context, l *lease) error {
		if l.held {
			if err := c.write(ctx, l, c.config.Identity); !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				return err
			} // Somebody asks for it, or it is lost.
		}
		return c.read(ctx, l)
	})
	c.gathering = false
	if more && err == nil {
		err = c.balance(ctx)
	}
	observe(c.leases)
	if ctx.Err() == nil && err != nil && err.Error() != c.failed {
		klog.FromContext(ctx).Error(err, "A lease can't be read or written; will retry")
	}
	c.failed = ""
	if err != nil {
		c.failed = err.Error()
	}
}

// each calls do for all leases concurrently, each for the time of a request.
func (c *coordinator) each(ctx context.Context, do func(context.Context, *lease) error) error {
	var group errgroup.Group
	for _, l := range c.leases {
		group.Go(func() error {
			ctx, cancel := context.WithTimeout(ctx, retry)
			defer cancel()
			return do(ctx, l)
		})
	}
	return group.Wait()
}

// balance takes a shard that is free, marks one that another replica is to get, or asks for one.
func (c *coordinator) balance(ctx context.Context) error {
	shares := map[string]int{c.config.Identity: 0}
	for _, l := range c.leases {
		if holder := l.holder(); holder != "" {
			shares[holder]++
		}
	}
	mine := shares[c.config.Identity]
	if leader := c.leases[0].holder(); mine == 0 && leader != "" && leader != c.leader {
		klog.FromContext(ctx).Info("Standing by: another replica leads", "leader", leader)
		c.leader = leader
	}
	// However many shards are free: a lost lease must be noticed in time.
	ctx, cancel := context.WithTimeout(ctx, retry)
	defer cancel()
	for _, l := range c.leases {
		// Others come first: those with fewer shards wait for a shorter time.
		if !l.held && l.holder() == "" && time.Since(l.freeSince) >= time.Duration(min(mine, maxPatience))*retry {
			if taken, err := c.take(ctx, l); taken || err != nil {
				return err
			}
		}
	}
	for _, l := range slices.Backward(c.leases) {
		if asker := l.requester(); l.held && !l.giving && asker != "" && shares[asker]+2 <= len(c.wanted().Held) {
			klog.FromContext(ctx).Info("A shard goes to another replica", "shard", l.shard, "replica", asker)
			l.giving = true
			return nil
		}
	}
	for _, l := range slices.Backward(c.leases) {
		if holder := l.holder(); holder != "" && shares[holder] >= mine+2 && l.requester() != c.config.Identity {
			return c.ask(ctx, l)
		}
	}
	return nil
}

// maxPatience is how many times Retry a replica leaves a free shard to others at most.
const maxPatience = 3

// take takes a shard that is free. It returns false if somebody else was faster.
func (c *coordinator) take(ctx context.Context, l *lease) (bool, error) {
	err := c.write(ctx, l, c.config.Identity)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return false, nil
	}
	if err == nil {
		c.gathering = true
		klog.FromContext(ctx).Info("Took a shard", "shard", l.shard, "of", c.config.Count, "lease", l.name)
	}
	return err == nil, err
}

// giveBack gives back leases that are held. What can't be given back expires.
func (c *coordinator) giveBack(ctx context.Context, which func(*lease) bool) {
	err := c.each(ctx, func(ctx context.Context, l *lease) error {
		if !l.held || !which(l) {
			return nil
		}
		l.giving = false
		err := c.write(ctx, l, "")
		if apierrors.IsConflict(err) { // Somebody has just asked for it.
			if err = c.read(ctx, l); err == nil && identityIn(l.object) == c.config.Identity {
				err = c.write(ctx, l, "")
			}
		}
		l.held = false
		return err
	})
	if err != nil {
		klog.FromContext(ctx).Error(err, "A lease is not given back; others take it when it has expired")
	}
}
