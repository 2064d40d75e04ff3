// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestLoadingRetries: a leader that can't read the reports does not end. It says what it waits for.
func TestLoadingRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, away, calls := &loading{}, errors.New("the server could not find the requested resource"), 0
		if err := l.ready(); !errors.Is(err, errNotLoaded) {
			t.Errorf("before: %v", err)
		}
		begun := time.Now()
		err := l.load(t.Context(), func(context.Context) error {
			if calls++; calls < 12 {
				return away
			}
			if err := l.ready(); !errors.Is(err, away) {
				t.Errorf("meanwhile: %v", err)
			}
			return nil
		})
		if err != nil || l.ready() != nil || calls != 12 {
			t.Errorf("%d calls, error %v, ready: %v", calls, err, l.ready())
		}
		if took := time.Since(begun); took < time.Minute || took > 4*time.Minute {
			t.Errorf("12 attempts took %v", took)
		}
	})
}

// TestLoadingEnds: it does not outlive its context.
func TestLoadingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(30*time.Second, cancel)
		l := &loading{}
		if err := l.load(ctx, func(context.Context) error { return errors.New("away") }); !errors.Is(err, context.Canceled) || l.ready() == nil {
			t.Errorf("error %v, ready: %v", err, l.ready())
		}
	})
}
