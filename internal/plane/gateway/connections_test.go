// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/connections"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestConnectionsOfGatewayAreBounded: those that send nothing give way, the oldest first.
func TestConnectionsOfGatewayAreBounded(t *testing.T) {
	t.Parallel()
	g := start(t, newCluster(t).config("alice-token"))
	// The library closes all after 32 s.
	testkit.Crowd(t, strings.TrimPrefix(g.url, "https://"), connections.Most+1, 20*time.Second)
	if code, body := g.get("/readyz", ""); code != http.StatusOK {
		t.Errorf("among them, /readyz says %d %s", code, body)
	}
}
