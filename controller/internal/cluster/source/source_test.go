// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestContextClock: what waits for time doesn't outlive the context.
func TestContextClock(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := contextClock{WithTicker: clock.RealClock{}, ctx: ctx}
	<-c.After(time.Millisecond)
	forever := c.After(1000 * time.Hour)
	select {
	case <-forever:
		t.Error("no time has passed")
	default:
	}
	cancel()
	<-forever
}

// TestSourceDecides: a refusal decides at once, passing trouble after a while, and silence after
// a longer one.
func TestSourceDecides(t *testing.T) {
	t.Parallel()
	gr := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err  error
		wait time.Duration
		want bool
	}{
		"at the start":        {nil, 0, false},
		"forbidden":           {apierrors.NewForbidden(gr, "", errors.New("no")), 0, true},
		"gone":                {apierrors.NewNotFound(gr, ""), 0, true},
		"refused connections": {syscall.ECONNREFUSED, patience - time.Second, false},
		"for long":            {syscall.ECONNREFUSED, patience, true},
		"silence":             {nil, patience, false},
		"silence for long":    {nil, patienceWithSilence, true},
		"expired list":        {apierrors.NewResourceExpired("old"), patience, false},
	} {
		fake, changes := clocktesting.NewFakeClock(time.Unix(1000, 0)), 0
		s := New(Config{Clock: fake, Changed: func(error) { changes++ }})
		s.since = fake.Now()
		s.note(t.Context(), OperationList, test.err)
		fake.Step(test.wait)
		if got := s.Decided(); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		s.setListed()
		s.note(t.Context(), OperationWatch, errors.New("away"))
		fake.Step(time.Hour)
		if listed, err := s.State(); !listed || err == nil || !s.Decided() {
			t.Errorf("%s: a list is forgotten", name)
		}
	}
}
