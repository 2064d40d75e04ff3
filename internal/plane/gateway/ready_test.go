// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestReadyNeedsAClusterThatAnswers: a cluster that takes connections and never answers, or
// refuses them, makes the gateway unready as soon as it asks, however seldom it looks at discovery;
// and ready again when it goes on.
func TestReadyNeedsAClusterThatAnswers(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("alice-token"), func(c *Config) { c.DiscoveryInterval = time.Hour })
	wantReady := func(want bool) {
		t.Helper()
		asked := len(cluster.requests("/version"))
		g.eventually(fmt.Sprintf("ready: %v", want), func() error {
			code, body := g.get("/readyz/cluster", "")
			if (code == http.StatusOK) != want {
				return fmt.Errorf("%d %s", code, body)
			}
			if !want && !strings.Contains(body, strings.TrimPrefix(cluster.server.URL, "https://")) {
				t.Errorf("%s doesn't say which cluster", body)
			}
			return nil
		})
		// One on a busy machine may have been given up.
		if asked = len(cluster.requests("/version")) - asked; asked > 3 {
			t.Errorf("the cluster was asked %d times until ready was %v", asked, want)
		}
	}
	resume := cluster.freeze()
	wantReady(false)
	if code, _ := g.get("/livez", ""); code != http.StatusOK {
		t.Errorf("/livez: %d; the gateway itself is alive", code)
	}
	resume()
	wantReady(true)
	cluster.change(func() { cluster.away = true })
	wantReady(false)
	cluster.change(func() { cluster.away = false })
	wantReady(true)
	cluster.server.CloseClientConnections()
	if err := cluster.server.Listener.Close(); err != nil {
		t.Error(err)
	}
	wantReady(false)
}

// TestReadyAgainSoon: a gateway that found no cluster at its start looks again soon.
func TestReadyAgainSoon(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	cluster.away = true
	g := startUnready(t, cluster.config("alice-token"), func(c *Config) { c.DiscoveryInterval = time.Hour })
	g.eventually("the cluster was asked", func() error {
		if len(cluster.requests("/apis")) == 0 {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	cluster.change(func() { cluster.away = false })
	g.eventually("the gateway is ready", func() error {
		if code, body := g.get("/readyz/cluster", ""); code != http.StatusOK {
			return fmt.Errorf("%d %s", code, body)
		}
		return nil
	})
}
