// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
)

// TestDiscoveryIsMerged: clients see both the cluster's group versions and registered ones, in
// the aggregated and in the legacy form. The gateway follows changes in the cluster.
func TestDiscoveryIsMerged(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("alice-token"))
	g.register(newExtension(t, "new.example.com/v1", g))
	wantGroups(t, g, "apps/v1", "batch/v1", "example.com/v1", "new.example.com/v1", "apiregistration.k8s.io/v1")
	cluster.change(func() { cluster.groups = []string{"apps/v1", "crd.example.com/v1", "crd.example.com/v1beta1"} })
	wantGroups(t, g, "apps/v1", "crd.example.com/v1", "crd.example.com/v1beta1", "!batch/v1", "!example.com/v1", "new.example.com/v1")
}

// wantGroups waits until both forms of discovery have group versions, and lack those with an
// exclamation mark.
func wantGroups(t *testing.T, g *running, want ...string) {
	t.Helper()
	for form, read := range map[string]func() (string, error){
		"aggregated": func() (string, error) {
			code, body := g.get("/apis", "", "Accept: application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
			var list apidiscovery.APIGroupDiscoveryList
			if err := json.Unmarshal([]byte(body), &list); err != nil || code != http.StatusOK {
				return "", fmt.Errorf("%d %s", code, body)
			}
			all := " "
			for _, group := range list.Items {
				for _, version := range group.Versions {
					all += group.Name + "/" + version.Version + " "
				}
			}
			return all, nil
		},
		"legacy": func() (string, error) {
			code, body := g.get("/apis", "", "Accept: application/json")
			body = strings.NewReplacer("\"groupVersion\":\"", " ", "\"", " ").Replace(body)
			if code != http.StatusOK {
				return "", fmt.Errorf("%d %s", code, body)
			}
			return body, nil
		},
	} {
		g.eventually(form+" discovery", func() error {
			got, err := read()
			if err != nil {
				return err
			}
			for _, gv := range want {
				name, absent := strings.CutPrefix(gv, "!")
				if strings.Contains(got, " "+name+" ") == absent {
					return fmt.Errorf("%s in %s", gv, got)
				}
			}
			return nil
		})
	}
}
