// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// reportResources are those whose objects the console shows as they are.
var reportResources = map[string][]string{
	"wgpolicyk8s.io": {"policyreports", "clusterpolicyreports"},
	"openreports.io": {"reports", "clusterreports"},
}

// resultsGroup is the API that everything else comes from.
const resultsGroup = "results.docket.dev"

// whoAmI is where the cluster says whom it takes the asker for.
const whoAmI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"

// allowed reports whether a request of a browser may go to the cluster: those that the pages make, and no others.
// None of them is a watch, whatever its value: that is for the console itself.
func allowed(r *http.Request) bool {
	parts, ok := partsOf(r.URL)
	if !ok || r.URL.Query().Has("watch") || len(parts) > 3 && parts[3] == "watch" {
		return false
	}
	switch r.Method {
	case http.MethodGet:
		return r.URL.Path == "/api/v1/namespaces" || len(parts) >= 2 && parts[0] == "apis" && (parts[1] == resultsGroup || isReport(parts))
	case http.MethodPost:
		return r.URL.Path == whoAmI || len(parts) >= 4 && parts[0] == "apis" && parts[1] == resultsGroup && isQuery(parts[3:])
	}
	return false
}

// watched reports whether the console itself may watch a path, of which a browser named the namespace.
func watched(u *url.URL) bool {
	parts, ok := partsOf(u)
	return ok && parts[0] == "apis" && isCollection(parts)
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

// isCollection reports whether a path names the reports of a kind:
// apis/GROUP/VERSION/[namespaces/NAMESPACE/]RESOURCE.
func isCollection(parts []string) bool {
	if len(parts) < 4 {
		return false
	}
	resources, ok := reportResources[parts[1]]
	switch {
	case !ok:
		return false
	case len(parts) == 6 && parts[3] == "namespaces":
		return parts[5] == resources[0]
	default:
		return len(parts) == 4 && slices.Contains(resources, parts[3])
	}
}

// isReport reports whether a path is that of one report: apis/GROUP/VERSION/[namespaces/NAMESPACE/]RESOURCE/NAME.
func isReport(parts []string) bool {
	resources, ok := reportResources[parts[1]]
	switch {
	case !ok:
		return false
	case len(parts) == 7 && parts[3] == "namespaces":
		return parts[5] == resources[0]
	default:
		return len(parts) == 5 && slices.Contains(resources[1:], parts[3])
	}
}
