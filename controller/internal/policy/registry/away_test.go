// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

// network has registries that answer at once, and one that never does. It counts requests by registry.
type network map[string]int

func (n network) RoundTrip(r *http.Request) (*http.Response, error) {
	n[r.URL.Host]++
	if r.URL.Host == "slow" {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}

// TestRegistryAway: one that does not answer is not asked for anything for a while, and others are.
func TestRegistryAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, asked := NewClient(Config{}), network{}
		client.transports.open = asked
		session := client.Session(true)
		ask := func(url string) error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := session.RoundTrip(request)
			if err == nil {
				err = response.Body.Close()
			}
			return err
		}
		for i := range 10 {
			if err := ask(fmt.Sprintf("http://slow/v2/a/manifests/%d", i)); err == nil || !strings.Contains(err.Error(), "no answer in 10s") {
				t.Errorf("%v", err)
			}
		}
		if asked["slow"] != 1 {
			t.Errorf("asked %d times", asked["slow"])
		}
		if err := ask("http://other/v2/a/manifests/v1"); err != nil {
			t.Error(err)
		}
		if err := session.Trouble(); err == nil || !strings.Contains(err.Error(), "slow") {
			t.Errorf("trouble: %v", err)
		}
	})
}
