// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// requestedBy is the annotation of a Lease that another replica asks for, with the identity of that one.
const requestedBy = "docket.dev/requested-by"

// lease is the Lease of a shard, as this replica has seen it last.
type lease struct {
	shard int
	name  string
	// object is nil if there is none.
	object *coordinationv1.Lease
	// seen is when a change of it was seen last. It is by this replica's clock, so that clocks may differ.
	seen time.Time
	// freeSince is when it was first seen to be held by nobody; zero if it is held.
	freeSince time.Time

	// held is true while this replica holds it; renewed is the start of the last request that took or renewed it.
	held    bool
	renewed time.Time
	// giving is true while it is to be given back as soon as the work has ended.
	giving bool
}

// holder returns the identity of the replica that holds the lease; empty if none does.
func (l *lease) holder() string {
	if !l.freeSince.IsZero() {
		return ""
	}
	return identityIn(l.object)
}

// requester returns the identity of the replica that asks for the lease; empty if none does.
func (l *lease) requester() string {
	if l.object == nil {
		return ""
	}
	return l.object.Annotations[requestedBy]
}

// observe takes what the server has; nil for no lease.
func (l *lease) observe(object *coordinationv1.Lease, now time.Time) {
	if object == nil || l.object == nil || !object.Spec.RenewTime.Equal(l.object.Spec.RenewTime) || identityIn(object) != identityIn(l.object) {
		l.seen = now
	}
	l.object = object
	free := identityIn(object) == ""
	if !free {
		lasts := time.Duration(ptr.Deref(object.Spec.LeaseDurationSeconds, 0)) * time.Second
		free = !now.Before(l.seen.Add(lasts))
	}
	switch {
	case !free:
		l.freeSince = time.Time{}
	case l.freeSince.IsZero():
		l.freeSince = now
	}
}

func identityIn(object *coordinationv1.Lease) string {
	if object == nil {
		return ""
	}
	return ptr.Deref(object.Spec.HolderIdentity, "")
}

// read observes the lease of the server.
func (c *coordinator) read(ctx context.Context, l *lease) error {
	object, err := c.config.Leases.Get(ctx, l.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		object, err = nil, nil
	}
	if err != nil {
		return fmt.Errorf("read the lease %s: %w", l.name, err)
	}
	l.observe(object, time.Now())
	return nil
}

// write makes this replica the holder, or renews that it is; with no identity it gives the lease back. It fails with
// a conflict if somebody else has changed the lease since it was read.
func (c *coordinator) write(ctx context.Context, l *lease, identity string) error {
	begun := time.Now()
	now := metav1.NewMicroTime(begun)
	seconds := int32(duration / time.Second)
	next := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: l.name}}
	if l.object != nil {
		next = l.object.DeepCopy()
	}
	if identity != identityIn(l.object) {
		delete(next.Annotations, requestedBy)
	}
	if identity != "" && identity != identityIn(l.object) {
		transitions := ptr.Deref(next.Spec.LeaseTransitions, -1) + 1
		next.Spec.AcquireTime, next.Spec.LeaseTransitions = &now, &transitions
	}
	next.Spec.HolderIdentity, next.Spec.LeaseDurationSeconds, next.Spec.RenewTime = &identity, &seconds, &now
	var written *coordinationv1.Lease
	var err error
	if l.object == nil {
		written, err = c.config.Leases.Create(ctx, next, metav1.CreateOptions{})
	} else {
		written, err = c.config.Leases.Update(ctx, next, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("write the lease %s: %w", l.name, err)
	}
	l.observe(written, time.Now())
	l.held, l.renewed = identity != "", begun
	return nil
}

// ask requests a lease from its holder.
func (c *coordinator) ask(ctx context.Context, l *lease) error {
	next := l.object.DeepCopy()
	if next.Annotations == nil {
		next.Annotations = map[string]string{}
	}
	next.Annotations[requestedBy] = c.config.Identity
	written, err := c.config.Leases.Update(ctx, next, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return nil // Renewed meanwhile. It is asked for the next time.
	}
	if err != nil {
		return fmt.Errorf("ask for the lease %s: %w", l.name, err)
	}
	l.observe(written, time.Now())
	return nil
}
