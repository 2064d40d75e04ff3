// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

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

	"github.com/docket-project/docket/controller/internal/broadcast"
)

// first is how often certificates are looked for until there are some.
const first = time.Second

// loaded is what a source has. It never changes.
type loaded struct {
	pair *tls.Certificate
	// bundle is PEM; nil if it is up to others.
	bundle       []byte
	authorityEnd time.Time
}

// source is where certificates come from.
type source interface {
	// load may return certificates together with an error: they serve, and the next ones don't
	// come.
	load(ctx context.Context) (*loaded, error)
	interval() time.Duration
}

// keeper has the certificates that are served, and follows their source.
type keeper struct {
	source source
	clock  clock.WithTicker

	// renewed is told of each change of the bundle.
	renewed broadcast.Signal[func()]

	mu      sync.Mutex
	current *loaded
	lastErr error
}

func newKeeper(source source, clock clock.WithTicker) *keeper {
	return &keeper{source: source, clock: clock}
}

// run follows the source until ctx is done.
func (k *keeper) run(ctx context.Context) {
	for ctx.Err() == nil {
		k.once(ctx)
		pause := k.source.interval()
		if k.get() == nil {
			pause = first
		}
		timer := k.clock.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-timer.C():
		}
		timer.Stop()
	}
}

func (k *keeper) once(ctx context.Context) {
	next, err := k.source.load(ctx)
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
	certificateErrors.Inc()
	if before == nil || before.Error() != err.Error() {
		klog.FromContext(ctx).Error(err, "The webhook's certificates can't be loaded or renewed")
	}
}

func (k *keeper) take(next *loaded) {
	k.mu.Lock()
	changed := k.current == nil || !bytes.Equal(k.current.bundle, next.bundle)
	k.current = next
	k.mu.Unlock()
	observeCertificates(next)
	if !changed {
		return
	}
	for _, renewed := range k.renewed.Subscribers() {
		renewed()
	}
}

func (k *keeper) get() *loaded {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.current
}

// certificate is for tls.Config.
func (k *keeper) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if current := k.get(); current != nil {
		return current.pair, nil
	}
	return nil, errors.New("no certificate yet")
}

// ready says why there is no certificate to serve.
func (k *keeper) ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.current == nil && k.lastErr != nil:
		return fmt.Errorf("no certificate: %w", k.lastErr)
	case k.current == nil:
		return errors.New("no certificate yet")
	case !k.clock.Now().Before(k.current.pair.Leaf.NotAfter):
		return errors.Join(fmt.Errorf("the certificate has expired at %s", k.current.pair.Leaf.NotAfter.UTC().Format(time.RFC3339)), k.lastErr)
	}
	return nil
}

func (k *keeper) bundle() []byte {
	if current := k.get(); current != nil {
		return bytes.Clone(current.bundle)
	}
	return nil
}
