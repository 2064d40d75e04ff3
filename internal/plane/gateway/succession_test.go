// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNamespaceMadeAnew: a gateway that may not read namespaces learns from its callers that a namespace
// is another one than that whose objects a server has, and deletes those before anybody
// sees them. Objects of the new one stay.
func TestNamespaceMadeAnew(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{ProfileToken, ProfileImpersonate, ProfileSingleUser} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			cluster.namespaces, cluster.uids = map[string]bool{"team": false}, map[string]string{"team": "first"}
			cluster.readers = []string{"alice"}
			owner, alice := "gateway-token", "alice-token"
			if profile == ProfileSingleUser {
				owner = alice
			}
			g := start(t, cluster.config(owner), func(c *Config) {
				c.Profile, c.NamespaceInterval = profile, time.Hour
				if profile == ProfileImpersonate {
					c.Groups = []string{"dev"}
				}
			})
			if profile == ProfileSingleUser {
				alice = g.token
			}
			extension := newExtension(t, "new.example.com/v1", g)
			extension.put("team/old")
			g.register(extension)
			g.eventually("the server is asked", func() error { return namesAre(g, alice, "old") })

			cluster.change(func() { delete(cluster.namespaces, "team") })
			wantNames(t, g, alice, "old") // Whatever is between a namespace and the next is nobody's.
			cluster.change(func() { cluster.namespaces["team"], cluster.uids["team"] = false, "second" })
			g.eventually("the later namespace is seen", func() error { return namesAre(g, alice, "") })
			if extension.has("team/old") {
				t.Error("the object is still there")
			}
			extension.put("team/new")
			wantNames(t, g, alice, "new")
			cluster.change(func() { cluster.uids["team"] = "third" })
			if code, body := read(t, g.do(http.MethodPatch, widgetsPath+"/another", alice)); code != http.StatusOK || extension.has("team/new") {
				t.Errorf("%d %s; the object of the earlier namespace is there when the next is written to: %v", code, body, extension.has("team/new"))
			}
		})
	}
}

// TestNamespaceMadeAnewUnseen: a caller who may not see the namespace is no reason to delete
// anything, nor is a cluster without an answer.
func TestNamespaceMadeAnewUnseen(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	cluster.namespaces, cluster.uids = map[string]bool{"team": false}, map[string]string{"team": "first"}
	g := start(t, cluster.config("gateway-token"), func(c *Config) { c.Profile, c.NamespaceInterval = ProfileToken, time.Hour })
	extension := newExtension(t, "new.example.com/v1", g)
	extension.put("team/kept")
	g.register(extension)
	wantNames(t, g, "alice-token", "kept")
	cluster.change(func() { cluster.readers = []string{} })
	for range 3 {
		wantNames(t, g, "bob-token", "kept")
	}
}

const widgetsPath = "/apis/new.example.com/v1/namespaces/team/widgets"

func wantNames(t *testing.T, g *running, token, want string) {
	t.Helper()
	if err := namesAre(g, token, want); err != nil {
		t.Error(err)
	}
}

// namesAre reports whether a user sees an object with this name alone, none for "".
func namesAre(g *running, token, want string) error {
	code, body := g.get(widgetsPath, token)
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		return fmt.Errorf("%d %s: %w", code, body, err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	if got := strings.Join(names, " "); code != http.StatusOK || got != want {
		return fmt.Errorf("%d, the names are %q, want %q", code, got, want)
	}
	return nil
}
