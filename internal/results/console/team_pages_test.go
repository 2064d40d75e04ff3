// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestTeamPages: behind a proxy the pages say who is signed in, and what to do when that ends.
func TestTeamPages(t *testing.T) {
	t.Parallel()
	config := testkit.Must(server.Config(writeReports))(t)
	o := options(SignInToken)
	o.Hosts = []string{"localhost"}
	console := testkit.Must(NewTeam(t.Context(), rest.CopyConfig(config), Info{Context: "east", Kubectl: []string{"kubectl"}}, nil, o, clock.RealClock{}))(t)
	// What the proxy sends in place of what the browser does; without a session it answers itself.
	const noSession = "no session"
	var token atomic.Value
	token.Store("Bearer " + config.BearerToken)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Authorization")
		sent, _ := token.Load().(string)
		if sent == noSession {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte("{}")) // As oauth2-proxy answers scripts.
			return
		}
		if sent != "" {
			r.Header.Set("Authorization", sent)
		}
		console.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	p := &person{T: t, tab: browser.tab(t), base: proxy.URL}
	p.do(chromedp.Navigate(p.base), ready)
	p.wants("no-root", "critical")
	if got, want := eval[string](p, "document.querySelector('.cluster').title"), "Signed in as "; len(got) <= len(want) || got[:len(want)] != want {
		t.Errorf("the header says %q, want who is signed in", got)
	}
	p.sound()
	for sent, want := range map[string]string{"": "You are not signed in", noSession: "You are not signed in", "Bearer of-nobody": "The cluster does not know you"} {
		token.Store(sent)
		p.do(chromedp.Evaluate[chromedp.Void]("location.hash = '#/results?' + Math.random()"), chromedp.WaitVisible(".problem"))
		p.wants(want, "Reload")
		if shown := p.text(); strings.Contains(shown, "{") {
			t.Errorf("the page shows an answer as it came:\n%s", shown)
		}
		token.Store("Bearer " + config.BearerToken)
		p.open("")
	}
	token.Store("")
	p.do(chromedp.Navigate("about:blank"), chromedp.Navigate(p.base), chromedp.WaitVisible("main.alone"))
	p.wants("The request came without a token", "Authorization: Bearer TOKEN")
}
