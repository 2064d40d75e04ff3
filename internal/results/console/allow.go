// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/docket-project/docket/internal/results/mapping"
)

// reported are the kinds of objects that have results, which the console shows as they are.
type reported []mapping.Kind

// resultsGroup is the API that everything else comes from.
const resultsGroup = "results.docket.dev"

// whoAmI is where the cluster says whom it takes the asker for.
const whoAmI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

// allow reports whether a request of a browser may go to the cluster: those that the pages make, and no others.
// None of them is a watch, whatever its value: that is for the console itself.
func (kinds reported) allow(r *http.Request) bool {
	parts, ok := partsOf(r.URL)
	if !ok || r.URL.Query().Has("watch") || len(parts) > 3 && parts[3] == "watch" {
		return false
	}
	switch r.Method {
	case http.MethodGet:
		return r.URL.Path == "/api/v1/namespaces" || len(parts) >= 2 && parts[0] == "apis" && (parts[1] == resultsGroup || kinds.haveObject(parts))
	case http.MethodPost:
		return r.URL.Path == whoAmI || len(parts) >= 4 && parts[0] == "apis" && parts[1] == resultsGroup && isQuery(parts[3:])
	}
	return false
}

// watched reports whether the console itself may watch a path, of which a browser named the namespace.
func (kinds reported) watched(u *url.URL) bool {
	parts, ok := partsOf(u)
	return ok && parts[0] == "apis" && kinds.haveCollection(parts)
}

// partsOf splits a path as it is sent, so that the cluster can't read it in another way.
func partsOf(u *url.URL) ([]string, bool) {
	sent := u.EscapedPath()
	if !strings.HasPrefix(sent, "/") || path.Clean(sent) != sent || strings.Contains(sent, "%") {
		return nil, false
	}
	return strings.Split(sent[1:], "/"), true
}

// isQuery reports whether a path below the version of the group is that of questions.
func isQuery(parts []string) bool {
	return len(parts) == 1 && (parts[0] == "resultqueries" || parts[0] == "fleetqueries") ||
		len(parts) == 3 && parts[0] == "namespaces" && parts[2] == "localresultqueries"
}

// haveCollection reports whether a path names the objects of a kind:
// apis/GROUP/VERSION/[namespaces/NAMESPACE/]RESOURCE.
func (kinds reported) haveCollection(parts []string) bool {
	return slices.ContainsFunc(kinds, func(kind mapping.Kind) bool {
		inNamespace := len(parts) == 6 && parts[3] == "namespaces"
		return (inNamespace && kind.Namespaced || len(parts) == 4) && parts[1] == kind.Group && parts[len(parts)-1] == kind.Resource
	})
}

// haveObject reports whether a path is that of one object:
// apis/GROUP/VERSION/[namespaces/NAMESPACE/]RESOURCE/NAME.
func (kinds reported) haveObject(parts []string) bool {
	return slices.ContainsFunc(kinds, func(kind mapping.Kind) bool {
		inNamespace := len(parts) == 7 && parts[3] == "namespaces"
		return (inNamespace && kind.Namespaced || len(parts) == 5 && !kind.Namespaced) && parts[1] == kind.Group && parts[len(parts)-2] == kind.Resource
	})
}
