// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestTrapRedirectToSlash: no request to the cluster is answered by a redirect to the same
// path with a slash, whether the path has one or not.
func TestTrapRedirectToSlash(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("alice-token"))
	for _, path := range []string{"/api", "/api/", "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/pods/", "/", "/logs"} {
		code, body := g.get(path, "")
		var answer struct{ ServedBy, Path string }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || code != http.StatusOK || answer.ServedBy != "cluster" || answer.Path != path {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	response := g.do(http.MethodGet, "/redirect", g.token)
	if response.StatusCode != http.StatusFound || response.Header.Get("Location") != "/elsewhere" {
		t.Errorf("a redirect of the cluster itself became %d to %q", response.StatusCode, response.Header.Get("Location"))
	}
}

// TestTrapVersionIsUpstreams: what describes the cluster is the cluster's.
func TestTrapVersionIsUpstreams(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("alice-token"))
	if code, body := g.get("/version", ""); code != http.StatusOK || !strings.Contains(body, "v1.36.0-of-the-cluster") {
		t.Errorf("/version: %d %s", code, body)
	}
	for _, path := range []string{"/.well-known/openid-configuration", "/openid/v1/jwks"} {
		if code, body := g.get(path, ""); code != http.StatusOK || !strings.Contains(body, "cluster") {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// TestTrapOpenAPIv2DuplicatePaths: what the cluster and somebody here serve comes once, and
// /openapi/v2 is never an error for it.
func TestTrapOpenAPIv2DuplicatePaths(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("alice-token"))
	g.register(newExtension(t, "example.com/v1", g))
	g.eventually("the documents are merged", func() error {
		code, body := g.get("/openapi/v2", "", "Accept: application/json")
		var document struct {
			Paths map[string]struct {
				Get struct{ Description string }
			}
		}
		if err := json.Unmarshal([]byte(body), &document); err != nil || code != http.StatusOK {
			return fmt.Errorf("%d %.200s", code, body)
		}
		for path, want := range map[string]string{
			"/apis/apps/v1/things": "served by cluster", "/api/v1/pods": "served by core", "/apis/example.com/v1/things": "served by extension",
		} {
			if got := document.Paths[path].Get.Description; got != want {
				return fmt.Errorf("%s is %q, want %q", path, got, want)
			}
		}
		registrations := document.Paths["/apis/apiregistration.k8s.io/v1/apiservices"].Get.Description
		if !strings.Contains(registrations, "APIService") {
			return fmt.Errorf("registrations are %q", registrations)
		}
		return nil
	})
}

// TestTrapOpenAPIv3Collision: of two documents for a group version, clients always get the
// document from the server that serves it.
func TestTrapOpenAPIv3Collision(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("alice-token"))
	g.register(newExtension(t, "example.com/v1", g))
	title := func(path string) string {
		code, body := g.get("/openapi/v3/"+path, "")
		var document struct{ Info struct{ Title string } }
		if err := json.Unmarshal([]byte(body), &document); err != nil || code != http.StatusOK {
			return fmt.Sprintf("%d %.200s", code, body)
		}
		return document.Info.Title
	}
	g.eventually("the documents are merged", func() error {
		for range 20 { // While the lists are renewed, any of two could be taken.
			if got := title("apis/example.com/v1"); got != "of the extension" {
				return errors.New(got)
			}
		}
		if got := title("apis/apps/v1"); got != "of the cluster" {
			return errors.New(got)
		}
		return nil
	})
	for range 20 {
		for path, want := range map[string]string{
			"apis/example.com/v1": "of the extension", "apis/apiregistration.k8s.io/v1": "Docket", "api/v1": "of the cluster",
		} {
			if got := title(path); got != want {
				t.Fatalf("%s is %q, want %q", path, got, want)
			}
		}
	}
}

// TestTrapClientCertificateIsNotAnonymous: who shows a certificate that the cluster would
// know, and nothing else, hears that it can't be passed on.
func TestTrapClientCertificateIsNotAnonymous(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{ProfileToken, ProfileSingleUser, ProfileImpersonate} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			g := start(t, cluster.config("gateway-token"), func(c *Config) { c.Profile = profile })
			extension := newExtension(t, "new.example.com/v1", g)
			g.register(extension)
			shown := g.tls()
			shown.Certificates = []tls.Certificate{clientCertificate(t, "admin")}
			for _, path := range []string{"/api/v1/namespaces/default/pods", "/apis/new.example.com/v1/things", "/apis", "/version"} {
				wantStatus(t, g.doWith(shown, http.MethodGet, path, "", nil), http.StatusUnauthorized, "certificate", "bearer token")
			}
			if seen := cluster.requests("/api/v1/namespaces/default/pods"); len(seen) > 0 {
				t.Errorf("the cluster saw %s", seen[0].user)
			}
			if seen := extension.requests(); len(seen) > 0 {
				t.Errorf("the extension server saw %s", seen[0].user)
			}
		})
	}
}

func clientCertificate(t *testing.T, name string) tls.Certificate {
	t.Helper()
	ca := testkit.Must(certificate.NewAuthority("clients", time.Now(), time.Hour))(t)
	pair := testkit.Must(certificate.NewClient(ca, name, time.Now(), time.Hour))(t)
	return testkit.Must(tls.X509KeyPair(pair.CertificatePEM, pair.KeyPEM))(t)
}

// TestTrapTwoAccessReviews: the gateway decides before the extension server is asked, and
// the cluster is asked once for many requests that are alike.
func TestTrapTwoAccessReviews(t *testing.T) {
	t.Parallel()
	for _, delegated := range []bool{false, true} {
		t.Run(fmt.Sprintf("delegated=%t", delegated), func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			cluster.allow = func(who authenticationv1.UserInfo, spec authorizationv1.SelfSubjectAccessReviewSpec) bool {
				return who.Username != "bob" || spec.ResourceAttributes == nil
			}
			g := start(t, cluster.config("gateway-token"), func(c *Config) { c.Profile, c.Delegated = ProfileToken, delegated })
			extension := newExtension(t, "new.example.com/v1", g)
			g.register(extension)
			const path = "/apis/new.example.com/v1/namespaces/default/things/a"
			wantStatus(t, g.do(http.MethodGet, path, "bob-token"), http.StatusForbidden, "bob", "things")
			if seen := extension.requests(); len(seen) > 0 {
				t.Errorf("the extension server was asked for %s", seen[0].path)
			}
			const times = 20
			for range times {
				if code, body := g.get(path, "alice-token"); code != http.StatusOK || !strings.Contains(body, "alice") {
					t.Fatalf("%d %s", code, body)
				}
			}
			asked := len(cluster.requests("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")) + len(cluster.requests("/apis/authorization.k8s.io/v1/subjectaccessreviews"))
			if asked > times/2 {
				t.Errorf("%d access reviews for %d requests", asked, times)
			}
		})
	}
}

// TestTrapNamespaceDeletionLeaks: objects that only the gateway knows go with their
// namespace, and only with it.
func TestTrapNamespaceDeletionLeaks(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	cluster.namespaces = map[string]bool{"default": false, "ending": true}
	g := start(t, cluster.config("alice-token"))
	extension := newExtension(t, "new.example.com/v1", g)
	extension.objects = map[string]bool{"default/kept": true, "ending/a": true, "gone/a": true, "gone/b": true}
	g.register(extension)
	g.eventually("the objects of ended namespaces are deleted", func() error {
		for _, key := range []string{"ending/a", "gone/a", "gone/b"} {
			if extension.has(key) {
				return fmt.Errorf("%s is still there", key)
			}
		}
		return nil
	})
	if !extension.has("default/kept") {
		t.Error("an object of a living namespace was deleted")
	}
}

// TestNamespaceEndsWhileAServerIsAway: its objects are deleted when it is back, those of others at
// once.
func TestNamespaceEndsWhileAServerIsAway(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	cluster.namespaces = map[string]bool{"team": false}
	g := start(t, cluster.config("alice-token"))
	away, there := newExtension(t, "away.example.com/v1", g), newExtension(t, "there.example.com/v1", g)
	for _, e := range []*extension{away, there} {
		e.put("team/a")
		g.register(e)
	}
	away.setDown(true)
	cluster.change(func() { delete(cluster.namespaces, "team") })
	gone := func(e *extension) func() error {
		return func() error {
			if e.has("team/a") {
				return fmt.Errorf("the object of %s is still there", e.gv)
			}
			return nil
		}
	}
	g.eventually("the server that is there is emptied", gone(there))
	away.setDown(false)
	g.eventually("the server that was away is emptied", gone(away))
}

// TestTrapGroupVersionAppearsUpstream: a registration that was there first wins over what the
// cluster serves later, and says so; discovery shows it once, before, during and after.
func TestTrapGroupVersionAppearsUpstream(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("alice-token"))
	g.register(newExtension(t, "late.example.com/v1", g))
	client := testkit.Must(clientset.NewForConfig(unlimited(g.Loopback)))(t)
	served := func() {
		t.Helper()
		if code, body := g.get("/apis/late.example.com/v1/things", ""); code != http.StatusOK || !strings.Contains(body, `"servedBy":"extension"`) {
			t.Errorf("%d %s", code, body)
		}
		_, body := g.get("/apis", "", "Accept: application/json")
		if n := strings.Count(body, `"name":"late.example.com"`); n != 1 {
			t.Errorf("the group is there %d times: %s", n, body)
		}
	}
	shadowing := func(want bool) func() error {
		return func() error {
			services := client.ApiregistrationV1().APIServices()
			have, err := services.Get(t.Context(), "v1.late.example.com", metav1.GetOptions{})
			if err != nil {
				return err
			}
			got := slices.ContainsFunc(have.Status.Conditions, func(c apiServiceCondition) bool { return c.Type == "Shadowing" && c.Status == "True" })
			if got != want {
				return fmt.Errorf("conditions %+v", have.Status.Conditions)
			}
			return nil
		}
	}
	served()
	cluster.change(func() { cluster.groups = append(cluster.groups, "late.example.com/v1") })
	g.eventually("the clash is shown", shadowing(true))
	served()
	cluster.change(func() { cluster.groups = cluster.groups[:len(cluster.groups)-1] })
	g.eventually("the clash is over", shadowing(false))
	served()
}

// TestTrapSystemIdentities: nobody becomes one of the cluster's own through the gateway, and
// groups go on only if they were named.
func TestTrapSystemIdentities(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	g := start(t, cluster.config("gateway-token"), func(c *Config) { c.Profile, c.Groups = ProfileImpersonate, []string{"dev"} })
	g.register(newExtension(t, "new.example.com/v1", g))
	cluster.change(func() {
		cluster.users["many-token"] = authenticationv1.UserInfo{Username: "many", Groups: []string{"dev", "ops", "system:authenticated"}}
	})
	for _, path := range []string{"/api/v1/pods", "/apis/new.example.com/v1/things"} {
		wantStatus(t, g.do(http.MethodGet, path, "root-token"), http.StatusForbidden, "system:masters")
		wantStatus(t, g.do(http.MethodGet, path, "node-token"), http.StatusForbidden, "system:node:n")
		wantStatus(t, g.do(http.MethodGet, path, "alice-token", "Impersonate-User: bob"), http.StatusForbidden, "Impersonate-*")
		wantStatus(t, g.do(http.MethodGet, path, "alice-token", "Impersonate-Group: system:masters"), http.StatusForbidden, "Impersonate-*")
		wantStatus(t, g.do(http.MethodGet, path, "unknown-token"), http.StatusUnauthorized)
		wantStatus(t, g.do(http.MethodGet, path, ""), http.StatusUnauthorized)
	}
	if code, body := g.get("/api/v1/pods", "many-token"); code != http.StatusOK || !strings.Contains(body, `"many"`) {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := g.get("/api/v1/pods", "robot-token"); code != http.StatusOK || !strings.Contains(body, "system:serviceaccount:ns:robot") {
		t.Fatalf("%d %s", code, body)
	}
	seen := cluster.requests("/api/v1/pods")
	if len(seen) != 2 {
		t.Fatalf("the cluster saw %d requests, want 2", len(seen))
	}
	if groups := seen[0].header.Values("Impersonate-Group"); !slices.Equal(groups, []string{"dev"}) {
		t.Errorf("groups %q were passed on", groups)
	}
	if got := seen[0].header.Get("Authorization"); got != "Bearer gateway-token" {
		t.Errorf("the cluster saw the credentials %q", got)
	}
}

// TestTrapTokenInSubprotocol: the token of a browser reaches the cluster in the profile
// that passes tokens on, and does not in the one that has a token of its own.
func TestTrapTokenInSubprotocol(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]string{ProfileToken: "alice", ProfileSingleUser: "system:serviceaccount:docket:gateway"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			g := start(t, cluster.config("gateway-token"), func(c *Config) { c.Profile = profile })
			token := "alice-token"
			if profile == ProfileSingleUser {
				token = g.token
			}
			protocol := tokenProtocol + base64.RawURLEncoding.EncodeToString([]byte(token))
			wantEcho(t, g, "websocket", "Sec-WebSocket-Protocol: v5.channel.k8s.io, "+protocol)
			seen := cluster.requests(execPath)
			if len(seen) != 1 || seen[0].user != want {
				t.Fatalf("the cluster saw %+v, want %s", seen, want)
			}
			if passed := strings.Contains(seen[0].header.Get("Sec-WebSocket-Protocol"), tokenProtocol); passed != (profile == ProfileToken) {
				t.Errorf("the cluster saw the protocols %q", seen[0].header.Get("Sec-WebSocket-Protocol"))
			}
		})
	}
}

// TestTrapAdmissionInformers: the gateway is ready, and takes registrations, in front of a
// cluster in which its user may do nothing at all: no informer waits for a right or for
// a resource that the cluster doesn't have.
func TestTrapAdmissionInformers(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	cluster.allow = func(_ authenticationv1.UserInfo, spec authorizationv1.SelfSubjectAccessReviewSpec) bool {
		return spec.ResourceAttributes == nil
	}
	g := start(t, cluster.config("bob-token"))
	g.register(newExtension(t, "new.example.com/v1", g))
	if code, body := g.get("/readyz", ""); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	// The gateway itself belongs to its owner, but the servers behind it do not.
	if code, body := g.get("/apis/apiregistration.k8s.io/v1/apiservices", ""); code != http.StatusOK {
		t.Errorf("registrations: %d %s", code, body)
	}
	wantStatus(t, g.do(http.MethodGet, "/apis/new.example.com/v1/things", g.token), http.StatusForbidden, "bob")
}

// TestTrapNotFoundAtStart: before all registrations are known, no group version is answered by
// the cluster's 404.
func TestTrapNotFoundAtStart(t *testing.T) {
	t.Parallel()
	for loaded, want := range map[bool]int{false: http.StatusServiceUnavailable, true: http.StatusNotFound} {
		handler := newRouter(router{
			owner:   func(groupVersion) (string, bool, bool) { return "", false, false },
			cluster: http.NotFoundHandler(), loaded: func() bool { return loaded },
		}, nil)
		for path, want := range map[string]int{"/apis/g/v1/things": want, "/api/v1/pods": http.StatusNotFound} {
			if got := serveOne(t, handler, path); got != want {
				t.Errorf("loaded=%t: %s: %d, want %d", loaded, path, got, want)
			}
		}
	}
}
