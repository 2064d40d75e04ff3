// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/controller/internal/policy/bounds"
)

// Guarded returns a configuration whose clients make no request that [Scope.Check] refuses, and none without a scope
// but those that ask what the API serves. It is for the clients that policies are evaluated with.
func Guarded(config *rest.Config) (*rest.Config, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	out := rest.CopyConfig(config)
	out.Wrap(func(next http.RoundTripper) http.RoundTripper { return &guard{next: next, server: server} })
	return out, nil
}

// guard is a transport that refuses requests.
type guard struct {
	next http.RoundTripper
	// server is the only one that is asked, at paths below its own.
	server *url.URL
}

// RoundTrip implements http.RoundTripper. Answers are read as far as policies may read.
func (g *guard) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := g.check(request); err != nil {
		if request.Body != nil {
			_ = request.Body.Close() // As transports have to.
		}
		return nil, err
	}
	response, err := g.next.RoundTrip(request)
	scope, ok := Of(request.Context())
	if err != nil || !ok {
		return response, err
	}
	what, limit := "the answer to "+request.Method+" "+request.URL.Path, scope.MaxAnswer()
	if response.ContentLength > limit {
		_ = response.Body.Close() // Nothing of it is used.
		return nil, bounds.TooLong(what, limit)
	}
	answer, err := bounds.Read(request.Context(), response.Body, limit, what)
	_ = response.Body.Close() // It has been read, or nothing of it is used.
	if err != nil {
		return nil, err
	}
	response.Body = answer
	return response, nil
}

func (g *guard) check(request *http.Request) error {
	if request.URL.Host != g.server.Host || request.URL.Scheme != g.server.Scheme {
		return refuse("%s://%s is not the cluster's API: policies are not redirected elsewhere", request.URL.Scheme, request.URL.Host)
	}
	target := *request.URL
	target.Scheme, target.Host = "", ""
	if base := strings.TrimSuffix(g.server.Path, "/"); base != "" {
		rest, below := strings.CutPrefix(target.Path, base+"/")
		if !below {
			return refuse("%s is not below %s, where the cluster's API is", target.Path, base)
		}
		target.Path = "/" + rest
	}
	if request.Method == http.MethodGet && discovers(target.Path) {
		return nil
	}
	scope, ok := Of(request.Context())
	if !ok {
		return refuse("%s %s: the request is not that of a policy", request.Method, target.Path)
	}
	return scope.held(scope.check(request.Method, &target))
}

// discovers reports whether a path says what the API serves, which libraries ask without a context.
func discovers(path string) bool {
	path, rooted := strings.CutPrefix(path, "/")
	if !rooted {
		return false
	}
	parts := strings.Split(path, "/")
	for _, part := range parts {
		if part == "." || part == ".." || strings.IndexFunc(part, special) >= 0 {
			return false
		}
	}
	// /api/v1 and /apis/apps/v1 list resources; what is longer is one.
	const versions, groupVersions = 2, 3
	switch parts[0] {
	case "version", "openapi":
		return true
	case "api":
		return len(parts) <= versions
	case "apis":
		return len(parts) <= groupVersions
	default:
		return false
	}
}
