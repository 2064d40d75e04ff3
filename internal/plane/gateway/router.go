// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"crypto/subtle"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericfilters "k8s.io/apiserver/pkg/server/filters"

	"github.com/docket-project/docket/internal/plane/aggregator"
)

// registrationGroup is served by the gateway itself: it keeps its own registrations.
const registrationGroup = "apiregistration.k8s.io"

// owner tells who serves a group version, as an aggregator does.
type owner func(schema.GroupVersion) (name string, remote, ok bool)

// router decides by the path of a request who answers it.
type router struct {
	owner   owner
	profile profile
	// own has the filters of k8s.io/apiserver, and the aggregator behind them.
	own http.Handler
	// cluster answers everything else.
	cluster http.Handler
	// loopback is the token of this process.
	loopback string
	// loaded reports whether all registrations are known.
	loaded func() bool
}

// newRouter returns the handler of all requests. Requests to the cluster have no filter
// but the one against panics: the cluster authenticates, authorizes, limits and audits
// its users by itself.
func newRouter(r router, info request.RequestInfoResolver) http.Handler {
	r.cluster = genericfilters.WithPanicRecovery(r.cluster, info)
	return &r
}

// ServeHTTP implements http.Handler.
func (g *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.owns(r.URL.Path) {
		if _, ok := aggregator.GroupVersionOf(r.URL.Path); ok && !g.loaded() {
			// It may be registered here. The cluster's 404 would make controllers believe
			// that objects are gone.
			fail(w, r, aggregator.Unavailable("docket gateway: the registrations of API servers are being loaded; try again"))
			return
		}
		g.cluster.ServeHTTP(w, r)
		return
	}
	// The filters know which paths need no credentials.
	if isHealth(r.URL.Path) || g.isLoopback(r) {
		g.own.ServeHTTP(w, r)
		return
	}
	c, err := g.profile.caller(r)
	if err == nil && c == nil {
		err = unauthorized(reasonNoCredentials)
	}
	if err != nil {
		fail(w, r, err)
		return
	}
	g.own.ServeHTTP(w, r.WithContext(withCaller(r.Context(), c)))
}

// owns reports whether the gateway answers a path by itself, or the server of a
// registered group version does.
func (g *router) owns(path string) bool {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch first {
	case "openapi", "metrics", "apiservers", "bootstrap", "healthz", "livez", "readyz":
		return true
	case "apis":
		group, rest, _ := strings.Cut(rest, "/")
		version, _, _ := strings.Cut(rest, "/")
		return version == "" || group == registrationGroup || g.isRemote(group, version)
	}
	return false
}

func (g *router) isRemote(group, version string) bool {
	_, remote, ok := g.owner(schema.GroupVersion{Group: group, Version: version})
	return remote && ok
}

// isLoopback reports whether a request comes from this process. The filters check the token again.
func (g *router) isLoopback(r *http.Request) bool {
	return g.loopback != "" && subtle.ConstantTimeCompare([]byte(bearerToken(r)), []byte(g.loopback)) == 1
}

func isHealth(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first == "healthz" || first == "livez" || first == "readyz"
}
