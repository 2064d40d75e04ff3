// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// firstInterval is the pause between two loads until there are certificates.
const firstInterval = time.Second

// KeeperConfig is what a [Keeper] works with. Source and Clock are required.
type KeeperConfig struct {
	Source Source
	Clock  clock.WithTicker
	// Whose says in the log whose certificates these are, such as "the webhook's".
	Whose string
	// Loaded is called after each load that brought certificates, even if they are those of before.
	// It must return quickly.
	Loaded func(loaded *Certificates, bundleChanged bool)
	// Failed is called after each load with an error. It must return quickly.
	Failed func()
}

// Keeper has the certificates that are served, and follows their source. It is safe for concurrent
// use.
type Keeper struct {
	config KeeperConfig

	mu      sync.Mutex
	current *Certificates
	lastErr error
}

// NewKeeper returns a keeper that has nothing until [Keeper.Run] or [Keeper.Load].
func NewKeeper(config KeeperConfig) *Keeper { return &Keeper{config: config} }

// Run follows the source until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	for ctx.Err() == nil {
		k.Load(ctx)
		k.pause(ctx)
	}
}

// Await loads until there are certificates, or ctx is done.
func (k *Keeper) Await(ctx context.Context) error {
	for k.Load(ctx); k.Current() == nil; k.Load(ctx) {
		k.pause(ctx)
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), k.Ready())
		}
	}
	return nil
}

// pause waits for the time of the next load, or for the end of ctx.
func (k *Keeper) pause(ctx context.Context) {
	pause := k.config.Source.Interval()
	if k.Current() == nil {
		pause = firstInterval
	}
	timer := k.config.Clock.NewTimer(pause)
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
	timer.Stop()
}

// Load brings what is served up to date, if that can be done now.
func (k *Keeper) Load(ctx context.Context) {
	next, err := k.config.Source.Load(ctx)
	if ctx.Err() != nil {
		return
	}
	if next != nil {
		k.take(next)
	}
	k.mu.Lock()
	before := k.lastErr
	k.lastErr = err
	k.mu.Unlock()
	if err == nil {
		return
	}
	if k.config.Failed != nil {
		k.config.Failed()
	}
	if before == nil || before.Error() != err.Error() {
		klog.FromContext(ctx).Error(err, "Serving certificates can't be loaded or renewed; will retry", "of", k.config.Whose)
	}
}

func (k *Keeper) take(next *Certificates) {
	k.mu.Lock()
	changed := k.current == nil || !bytes.Equal(k.current.Bundle, next.Bundle)
	k.current = next
	k.mu.Unlock()
	if k.config.Loaded != nil {
		k.config.Loaded(next, changed)
	}
}

// Current returns what is to be served; nil if nothing was loaded yet.
func (k *Keeper) Current() *Certificates {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

// GetCertificate is for [tls.Config].
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if current := k.Current(); current != nil {
		return current.Pair, nil
	}
	return nil, errors.New("no certificate yet")
}

// Err returns what the last load came to.
func (k *Keeper) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lastErr
}

// Ready says why there is no certificate to serve; nil if there is one.
func (k *Keeper) Ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.current == nil && k.lastErr != nil:
		return fmt.Errorf("no certificate: %w", k.lastErr)
	case k.current == nil:
		return errors.New("no certificate yet")
	case !k.config.Clock.Now().Before(k.current.Pair.Leaf.NotAfter):
		return errors.Join(fmt.Errorf("the certificate has expired at %s", k.current.Pair.Leaf.NotAfter.UTC().Format(time.RFC3339)), k.lastErr)
	}
	return nil
}

// Bundle returns the authorities to trust, as PEM; nil if they are not known here.
func (k *Keeper) Bundle() []byte {
	if current := k.Current(); current != nil {
		return bytes.Clone(current.Bundle)
	}
	return nil
}
