// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestProxy: where a proxy connects, what can be checked is the name, and an address in its place.
func TestProxy(t *testing.T) {
	t.Parallel()
	ways := newTransports(Config{Public: func(address netip.Addr) error {
		if address.IsPrivate() {
			return errors.New("private")
		}
		return nil
	}})
	ways.proxy = func(*http.Request) (*url.URL, error) { return url.Parse("http://proxy.example.com:3128") }
	asked := network{}
	ways.open = asked
	for host, want := range map[string]bool{
		"ghcr.io": true, "ghcr.io.": true, "8.8.8.8": true,
		"10.0.0.1": false, "[fd00::1]": false, "registry": false, "registry.team.svc": false, "registry.team.svc.": false,
		"registry.team.svc.cluster.local": false, "metadata.google.internal": false, "x.localhost": false,
	} {
		request := testkit.Must(http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+"/token", nil))(t)
		response, err := ways.send(request, true)
		if err == nil {
			_ = response.Body.Close()
		}
		if (err == nil) != want || (asked[host] > 0) != want {
			t.Errorf("%s: %v, want sent %v", host, err, want)
		}
	}
}
