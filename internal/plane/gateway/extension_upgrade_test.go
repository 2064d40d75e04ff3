// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/docket-project/docket/internal/kit/testkit"
)

const consolePath = "/apis/new.example.com/v1/namespaces/default/widgets/w/console"

// withConsole lets an extension server upgrade requests for consolePath and send back everything that it receives.
// The headers of each request are sent to seen. It is called before the server is registered.
func withConsole(e *extension, seen chan<- http.Header) {
	others := e.server.Config.Handler
	e.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != consolePath {
			others.ServeHTTP(w, r)
			return
		}
		seen <- r.Header.Clone()
		serveEcho(w, r)
	})
}

// TestExtensionUpgrades: an extension server learns who upgrades a connection, with all that the cluster knows about
// the user and none of what the request says, in every profile.
func TestExtensionUpgrades(t *testing.T) {
	t.Parallel()
	alice := http.Header{
		"X-Remote-User": {"alice"}, "X-Remote-Uid": {"1"}, "X-Remote-Group": {"dev", "system:authenticated"},
		"X-Remote-Extra-Example.com%2fteam": {"a b"},
	}
	for profile, own := range map[string]string{ProfileSingleUser: "alice-token", ProfileToken: "gateway-token", ProfileImpersonate: "gateway-token"} {
		for _, upgrade := range []string{"SPDY/3.1", "websocket"} {
			t.Run(profile+" "+upgrade, func(t *testing.T) {
				t.Parallel()
				g := start(t, newCluster(t).config(own), func(c *Config) {
					c.Profile = profile
					if profile == ProfileImpersonate {
						c.Groups = []string{"dev"}
					}
				})
				token := "alice-token"
				if profile == ProfileSingleUser {
					token = g.token
				}
				extension, seen := newExtension(t, "new.example.com/v1", g), make(chan http.Header, 1)
				withConsole(extension, seen)
				g.register(extension)
				echoAt(t, g, consolePath, upgrade, "Authorization: Bearer "+token,
					"X-Remote-User: root", "X-Remote-Group: system:masters", "X-Remote-Extra-Scopes: all", "X-Remote-Extra-Example.com%2fteam: red")
				got := http.Header{}
				for name, values := range <-seen {
					if strings.HasPrefix(name, "X-Remote-") || name == "Authorization" || strings.HasPrefix(name, "Impersonate-") {
						got[name] = values
					}
				}
				testkit.NoDiff(t, cmp.Diff(alice, got), "what the extension server knows (-want +got)")
			})
		}
	}
}

// echoAt upgrades a connection and wants back what it sends, a large message among it.
func echoAt(t *testing.T, g *running, path, upgrade string, headers ...string) {
	t.Helper()
	config := g.tls()
	config.NextProtos = []string{"http/1.1"}
	conn := testkit.Must((&tls.Dialer{Config: config}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.url, "https://")))(t)
	defer func() { _ = conn.Close() }()
	testkit.NoError(t, conn.SetDeadline(time.Now().Add(soon)))
	lines := append([]string{"Host: gateway", "Connection: Upgrade", "Upgrade: " + upgrade, "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="}, headers...)
	testkit.Must(fmt.Fprintf(conn, "GET %s HTTP/1.1\r\n%s\r\n\r\n", path, strings.Join(lines, "\r\n")))(t)
	if answer := readHeader(t, conn); !strings.HasPrefix(answer, "HTTP/1.1 101") {
		t.Fatalf("the answer is %q", answer)
	}
	for _, word := range []string{"one", strings.Repeat("x", 3<<20)} {
		sent := make(chan error, 1)
		go func() {
			_, err := fmt.Fprintln(conn, word)
			sent <- err
		}()
		want := "echo " + word + "\n"
		got := make([]byte, len(want))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
			t.Fatalf("got %.20q, %v", got, err)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
	}
}
