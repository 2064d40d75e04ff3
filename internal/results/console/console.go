// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/results/mapping"
)

const (
	signInPath = "/sign-in"
	infoPath   = "/console.json"
	// signInHeader marks answers of the console itself, as opposed to the cluster, that ask to sign in.
	signInHeader = "Docket-Console"
)

// Info is what the pages know of the cluster beside its answers.
type Info struct {
	// Cluster is the address of the cluster.
	Cluster string `json:"cluster"`
	// Context of the kubeconfig; empty for none.
	Context string `json:"context,omitempty"`
	// Namespace of the context.
	Namespace string `json:"namespace,omitempty"`
	// Kubectl are the words with which a command to ask the same cluster begins.
	Kubectl []string `json:"kubectl"`
	// NewLink is the command that prints a link to a console of the same cluster. Empty if the way to it is to start
	// this console again.
	NewLink string `json:"newLink,omitempty"`
	// SignIn is how people are known to a [Team]: see [SignInToken] and [SignInHeaders]; empty for a [Console].
	SignIn string `json:"signIn,omitempty"`
	// Kinds of objects that have results. Who makes a console names those that have them by a mapping.
	Kinds []mapping.Kind `json:"kinds"`
}

// Console is a server for one browser.
type Console struct {
	*site

	session *session
	// opening is the folder of a page with the link.
	opening atomic.Pointer[string]
}

// New returns a console that asks the cluster of config. Besides IP addresses, requests may name the hosts only. The
// link can be opened for [LinkLifetime] from now.
func New(config *rest.Config, info Info, hosts []string, c clock.PassiveClock) (*Console, error) {
	s, err := newSite(config, info, hosts)
	if err != nil {
		return nil, err
	}
	return &Console{site: s, session: newSession(c)}, nil
}

// Link returns the address that signs a browser in, once.
func (c *Console) Link(host string) string {
	link := url.URL{Scheme: "http", Host: host, Path: signInPath, RawQuery: url.Values{"token": {c.session.token}}.Encode()}
	return link.String()
}

// Serve answers requests until ctx ends. It closes the listener.
func (c *Console) Serve(ctx context.Context, listener net.Listener) error {
	defer c.removeOpening()
	return serve(ctx, listener, c, nil)
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	switch {
	case !c.knownHost(r.Host):
		writeStatus(w, http.StatusMisdirectedRequest, metav1.StatusReasonForbidden, "the console is not reached by this name; use the address that it printed")
	case !sameOrigin(r):
		writeStatus(w, http.StatusForbidden, metav1.StatusReasonForbidden, "requests from other pages are refused")
	case r.URL.Path == signInPath:
		c.signIn(w, r)
	case c.session.knows(r):
		c.answer(w, r)
	case r.URL.Path == "/console.css" && r.Method == http.MethodGet:
		c.files.ServeHTTP(w, r) // The page that says how to sign in looks like the others.
	case r.URL.Path == "/":
		c.refuse(w, r)
	default:
		w.Header().Set(signInHeader, "sign-in")
		writeStatus(w, http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "this browser is not signed in to the console")
	}
}

// signIn lets the browser in that opens the link first.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		writeStatus(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "open the link in a browser")
		return
	}
	if cookie := c.session.signIn(r.URL.Query().Get("token")); cookie != nil {
		c.removeOpening()
		http.SetCookie(w, cookie)
	} else if !c.session.knows(r) {
		c.refuse(w, r)
		return
	}
	// Not a redirect: after a link on another site, the browser would follow it without the cookie, which is a strict one.
	writePage(w, http.StatusOK, `<meta http-equiv="refresh" content="0; url=/"><title>Docket</title><p><a href="/">Continue</a>`)
}

// refuse says what to do.
func (c *Console) refuse(w http.ResponseWriter, r *http.Request) {
	reason := "This browser is not signed in."
	if r.URL.Path == signInPath {
		reason = "This link has been used, or is too old."
	}
	writePage(w, http.StatusUnauthorized, `<title>Docket: sign in</title><link rel="stylesheet" href="/console.css">
<main class="alone"><h1>`+reason+`</h1>
<p>A link opens the console in one browser, once, within `+fmt.Sprintf("%.0f", LinkLifetime.Minutes())+` minutes.
<p>For a new link, `+c.newLink()+`</main>`)
}

// newLink says how to get a new link.
func (c *Console) newLink() string {
	if c.info.NewLink == "" {
		return "stop <code>docket console</code> in its terminal with Ctrl-C, and start it again."
	}
	return "run in a terminal: <code>" + html.EscapeString(c.info.NewLink) + "</code>"
}

func writePage(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	//nolint:gosec // Callers escape what is not constant.
	_, _ = w.Write([]byte(`<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` + body)) // An error says that the browser has gone.
}

// sameOrigin reports whether a request is from the console's own page, or from no page.
func sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin != "" {
		return origin == "http://"+r.Host
	}
	return r.Method == http.MethodGet
}
