// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// LinkLifetime is how long the link can be opened.
const LinkLifetime = 10 * time.Minute

// session is the one browser that is signed in: the first that opens the link in time.
type session struct {
	clock   clock.PassiveClock
	expires time.Time
	// cookieName is random, as cookies are shared by all ports of a host: two consoles don't sign each other out.
	cookieName string

	mu     sync.Mutex
	token  string // "" once it is used
	cookie string // "" until then
}

func newSession(c clock.PassiveClock) *session {
	return &session{clock: c, expires: c.Now().Add(LinkLifetime), cookieName: "docket-console-" + rand.Text()[:8], token: rand.Text()}
}

// signIn uses up the token and returns the cookie; nil if the token is not the right one, was used or is too old.
func (s *session) signIn(token string) *http.Cookie {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(s.token)) != 1 || !s.clock.Now().Before(s.expires) {
		return nil
	}
	s.token, s.cookie = "", rand.Text()
	//nolint:gosec // Not Secure: browsers differ in whether they send such a cookie to loopback without encryption.
	return &http.Cookie{Name: s.cookieName, Value: s.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
}

// knows reports whether a request is from the browser that is signed in.
func (s *session) knows(r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	given, err := r.Cookie(s.cookieName)
	return err == nil && s.cookie != "" && subtle.ConstantTimeCompare([]byte(given.Value), []byte(s.cookie)) == 1
}
