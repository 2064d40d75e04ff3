// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"reflect"
	"time"

	"k8s.io/klog/v2"
)

// firstDiscovery is how often the catalog is asked for until there is one.
const firstDiscovery = time.Second

// followDiscovery keeps the catalog up to date, and has the planner look when an exception has expired. While the API doesn't answer, it stays as it is:
// a kind is gone only if the API says so.
func (s *Scanner) followDiscovery(ctx context.Context) {
	timer := s.config.Clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.rediscover:
			timer.Stop()
		case <-timer.C():
		}
		s.discoverOnce(ctx)
		if at := s.expiry.Load(); at != nil && !at.IsZero() && !s.config.Clock.Now().Before(*at) {
			s.wake()
		}
		pause := s.config.DiscoveryInterval
		if s.catalog.Load() == nil {
			pause = min(pause, firstDiscovery)
		}
		timer.Reset(pause)
	}
}

func (s *Scanner) discoverOnce(ctx context.Context) {
	before := s.catalog.Load()
	next, err := s.discover(ctx, before)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		scanErrors.WithLabelValues(operationDiscovery).Inc()
		klog.FromContext(ctx).Error(err, "Kinds stay as they were")
		return
	}
	if reflect.DeepEqual(before, next) {
		return
	}
	for version := range next.failed {
		if before == nil || !before.failed[version] {
			scanErrors.WithLabelValues(operationDiscovery).Inc()
			klog.FromContext(ctx).Info("A part of the API does not say which kinds it has; what was known of it stays", "groupVersion", version)
		}
	}
	s.catalog.Store(next)
	s.wake()
}

// discover returns when ctx is done even if the API doesn't answer: the discovery client takes no
// context. The goroutine that is left then ends with the client's timeout.
func (s *Scanner) discover(ctx context.Context, before *catalog) (*catalog, error) {
	type answer struct {
		catalog *catalog
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		next, err := discover(s.config.Discovery, before)
		answers <- answer{next, err}
	}()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case a := <-answers:
		return a.catalog, a.err
	}
}
