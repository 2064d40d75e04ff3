// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
)

// TestCallersSeeRegistrations: who shares a gateway may see what is registered and how it is, without
// any right in the cluster, and change none of it. Nobody else may.
func TestCallersSeeRegistrations(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{ProfileToken, ProfileImpersonate} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			cluster.allow = func(authenticationv1.UserInfo, authorizationv1.SelfSubjectAccessReviewSpec) bool { return false }
			g := start(t, cluster.config("gateway-token"), func(c *Config) {
				if c.Profile = profile; profile == ProfileImpersonate {
					c.Groups = []string{"dev"}
				}
			})
			g.register(newExtension(t, "new.example.com/v1", g))
			const services, one = "/apis/apiregistration.k8s.io/v1/apiservices", "/v1.new.example.com"
			for path, want := range map[string]string{
				services: `"name":"v1.new.example.com"`, services + one: `"caBundle"`, services + one + "/status": `"Available"`,
				"/apiservers": "new.example.com/v1 https://127.0.0.1:", "/apiservers/healthz": "v1.new.example.com ok", "/apiservers/healthz" + one: "v1.new.example.com ok",
			} {
				if code, body := g.get(path, "bob-token"); code != http.StatusOK || !strings.Contains(body, want) {
					t.Errorf("%s: %d %s", path, code, body)
				}
				if code, _ := read(t, g.do(http.MethodGet, path, "unknown")); code != http.StatusUnauthorized {
					t.Errorf("%s: %d for an unknown token", path, code)
				}
				if code, _ := read(t, g.do(http.MethodGet, path, "")); code != http.StatusUnauthorized {
					t.Errorf("%s: %d for nobody", path, code)
				}
				if code, _ := read(t, g.do(http.MethodDelete, path, "bob-token")); code != http.StatusForbidden {
					t.Errorf("%s: %d for a deletion", path, code)
				}
			}
			for _, path := range []string{"/metrics", "/apiservers/healthzmore", "/bootstrap/wgpolicyk8s.io", "/apis/new.example.com/v1/widgets"} {
				if code, body := g.get(path, "bob-token"); code != http.StatusForbidden {
					t.Errorf("%s: %d %s", path, code, body)
				}
			}
		})
	}
}
