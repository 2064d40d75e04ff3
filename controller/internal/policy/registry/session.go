// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/docket-project/docket/controller/internal/policy/bounds"
)

// userAgent is what registries see.
const userAgent = "docket-controller"

// Session is what one evaluation asks of registries. It is safe for concurrent use.
type Session struct {
	*record

	client *Client
	// scope tells other credentials apart.
	scope string
	// way is that of requests to registries, elsewhere that of requests to where they send on.
	way, elsewhere way
}

// record is what a session remembers.
type record struct {
	mu sync.Mutex
	// asked has the hosts of registries.
	asked map[string]bool
	// troubles are requests without a usable answer, by host and path.
	troubles map[string]error
	notes    map[string]bool
}

// Session returns a session that has no credentials but those of the controller. Plain tells that registries may send
// on to plain HTTP.
func (c *Client) Session(plain bool) *Session {
	return &Session{client: c, record: &record{asked: map[string]bool{}, troubles: map[string]error{}, notes: map[string]bool{}}, way: way{plain: true}, elsewhere: way{public: true, plain: plain}}
}

// As returns the same session for requests with other credentials, which do not get the answers to
// anybody else's. The text has to say which ones, such as the names of Secrets.
func (s *Session) As(credentials string) *Session {
	return &Session{client: s.client, record: s.record, scope: credentials, way: s.way, elsewhere: s.elsewhere}
}

// Confined returns the same session for the requests of a namespaced policy: registries are asked as others are where
// they send on.
func (s *Session) Confined() *Session {
	return &Session{client: s.client, record: s.record, scope: s.scope, way: s.elsewhere, elsewhere: s.elsewhere}
}

// Options has all requests of a library made by the session, and ended by the context. They have to come last.
func (s *Session) Options(ctx context.Context) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx), remote.WithTransport(s), remote.WithUserAgent(userAgent),
		// A registry that fails is not asked again for a while.
		remote.WithRetryBackoff(remote.Backoff{Steps: 1}), remote.WithRetryStatusCodes(),
	}
}

// RoundTrip implements http.RoundTripper.
func (s *Session) RoundTrip(request *http.Request) (*http.Response, error) {
	out, err := s.client.ask(s.scope, s.wayOf(request), request)
	if err == nil {
		err = bounds.Take(request.Context(), out.cost)
	}
	s.note(request, out, err)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", out.status, http.StatusText(out.status)), StatusCode: out.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: out.header.Clone(),
		Body: io.NopCloser(bytes.NewReader(out.body)), ContentLength: out.length, Request: request,
	}, nil
}

// wayOf returns the way of a request. Tokens are where a registry says: over https, and at a public address unless it
// is the registry itself that gives them.
func (s *Session) wayOf(request *http.Request) way {
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(request.URL.Path, apiPrefix) {
		s.asked[request.URL.Scheme+"://"+request.URL.Host] = true
		return s.way
	}
	if s.asked[request.URL.Scheme+"://"+request.URL.Host] {
		return s.way
	}
	return s.elsewhere
}

// note remembers a request without an answer until it has one. Registries that may be asked over
// plain HTTP are asked over HTTPS first.
func (s *record) note(request *http.Request, out *answer, err error) {
	key := request.URL.Host + request.URL.Path
	if err == nil && troubling(request.URL.Path, out.status) {
		err = fmt.Errorf("registry %s: %s %s: %d %s", request.URL.Host, request.Method, request.URL.Path, out.status, http.StatusText(out.status))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		delete(s.troubles, key)
		return
	}
	s.troubles[key] = err
}

// troubling reports whether a status leaves open whether something exists.
func troubling(path string, status int) bool {
	switch status {
	case http.StatusUnauthorized:
		return path != apiPrefix
	case http.StatusForbidden, http.StatusTooManyRequests:
		return true
	default:
		return status >= http.StatusInternalServerError
	}
}

// Note adds a remark to what Trouble says if there is any, such as that a Secret can't be read.
func (s *record) Note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes[text] = true
}

// Trouble returns why registries did not answer; nil if they have answered all that was asked. An
// image can't be called unsigned then.
func (s *record) Trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.troubles) == 0 {
		return nil
	}
	// The first is enough, and always the same one.
	err := s.troubles[slices.Min(slices.Collect(maps.Keys(s.troubles)))]
	for _, note := range slices.Sorted(maps.Keys(s.notes)) {
		err = fmt.Errorf("%w (%s)", err, note)
	}
	return err
}

type sessionKey struct{}

// With returns a context with the session.
func With(ctx context.Context, s *Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// ErrNone says that there is no session: registries are not asked.
var ErrNone = errors.New("image registries are not asked")

// From returns the session of a context, or [ErrNone].
func From(ctx context.Context) (*Session, error) {
	if s, ok := ctx.Value(sessionKey{}).(*Session); ok && s != nil {
		return s, nil
	}
	return nil, ErrNone
}
