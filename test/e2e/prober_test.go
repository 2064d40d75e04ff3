// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

// probeInterval: clients such as policy-reporter never recover from one LIST or WATCH
// that is refused, so that gaps must be looked for closely.
const probeInterval = 50 * time.Millisecond

// prober lists and watches without end, through the cluster's API server.
type prober struct {
	client *http.Client
	base   string

	group    sync.WaitGroup
	mu       sync.Mutex // guards the fields below
	lists    int
	watches  int
	failures []string
}

// startProber starts a prober that goes on until stop is called.
func startProber(t testing.TB, c *harness.Cluster) (p *prober, stop func()) {
	t.Helper()
	config := c.RESTConfig(t)
	config.QPS = -1
	client := testkit.Must(rest.HTTPClientFor(config))(t)
	p = &prober{client: client, base: c.URL() + "/apis/wgpolicyk8s.io/v1alpha2/policyreports"}
	ctx, cancel := context.WithCancel(t.Context())
	p.group.Go(func() { p.run(ctx) })
	stop = func() {
		cancel()
		p.group.Wait()
	}
	t.Cleanup(stop)
	return p, stop
}

func (p *prober) run(ctx context.Context) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// Each for itself: a slow answer must not hide the next gap.
		p.group.Go(func() { p.probe(ctx, "?limit=1", &p.lists) })
		p.group.Go(func() {
			p.probe(ctx, "?watch=true&allowWatchBookmarks=true&timeoutSeconds=2&resourceVersion=0", &p.watches)
		})
	}
}

func (p *prober) probe(ctx context.Context, query string, done *int) {
	started := time.Now()
	err := p.get(ctx, query)
	if ctx.Err() != nil {
		return // Interrupted by the end of the test.
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	*done++
	if err != nil && len(p.failures) < 20 {
		p.failures = append(p.failures, fmt.Sprintf("%s %s: %v", started.Format("15:04:05.000"), query, err))
	}
}

func (p *prober) get(ctx context.Context, query string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+query, nil)
	if err != nil {
		return err
	}
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return fmt.Errorf("in the middle of the answer: %w", err)
	case response.StatusCode != http.StatusOK:
		return fmt.Errorf("status %d: %.200s", response.StatusCode, body)
	case strings.Contains(string(body), `"type":"ERROR"`):
		return fmt.Errorf("an error in the stream: %.200s", body)
	}
	return nil
}

// waitFor waits until there was a list and a watch: these take seconds, and a test may be over sooner.
func (p *prober) waitFor(t *testing.T) {
	t.Helper()
	waitUntil(t, "the prober has listed and watched", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.lists > 0 && p.watches > 0
	})
}

// check wants no failure at all.
func (p *prober) check(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, failure := range p.failures {
		t.Error(failure)
	}
	t.Logf("%d lists and %d watches, %d failures", p.lists, p.watches, len(p.failures))
	if p.lists == 0 || p.watches == 0 {
		t.Error("the prober did nothing")
	}
}
