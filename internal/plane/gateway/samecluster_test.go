// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/internal/plane/statedir"
)

// TestOtherClusterIsRefused: the objects of one cluster's namespaces must not be measured
// by the namespaces of another.
func TestOtherClusterIsRefused(t *testing.T) {
	t.Parallel()
	at := func(host, authority string) *rest.Config {
		return &rest.Config{Host: host, TLSClientConfig: rest.TLSClientConfig{CAData: []byte(authority)}}
	}
	for name, test := range map[string]struct {
		before, now *rest.Config
		same        bool
	}{
		"again":                           {at("https://a", "x"), at("https://a/", "x"), true},
		"through a tunnel":                {at("https://a", "x"), at("https://127.0.0.1:9999", "x"), true},
		"another authority":               {at("https://a", "x"), at("https://a", "y"), false},
		"another address, no authority":   {at("https://a", ""), at("https://b", ""), false},
		"the same address, no authority":  {at("https://a", ""), at("https://a", ""), true},
		"an authority where none was":     {at("https://a", ""), at("https://a", "x"), true},
		"an authority, and another place": {at("https://a", ""), at("https://b", "x"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			held := testkit.Must(statedir.Open(filepath.Join(t.TempDir(), "state")))(t)
			t.Cleanup(func() { _ = held.Close() })
			testkit.NoError(t, sameCluster(held, test.before))
			if err := sameCluster(held, test.now); (err == nil) != test.same {
				t.Errorf("the second: %v, want none: %v", err, test.same)
			}
		})
	}
}
