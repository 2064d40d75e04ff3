// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// markHeader and markValue are in our answers about the resources of a group version.
// The cluster's proxy passes them on; for a CRD it answers itself, without them.
const (
	markHeader = "Docket-Serves"
	markValue  = "reports"
)

// Mark adds to handler's answers about the resources of served group versions by what a
// Checker knows that they come from here.
func Mark(handler http.Handler, served func() []Served) http.Handler {
	const slashes = 3 // /apis/GROUP/VERSION: others, which are nearly all, are not looked up.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Count(r.URL.Path, "/") == slashes &&
			slices.ContainsFunc(served(), func(s Served) bool { return versionPath(s.GroupVersion) == r.URL.Path }) {
			w.Header().Set(markHeader, markValue)
		}
		handler.ServeHTTP(w, r)
	})
}

func versionPath(version schema.GroupVersion) string {
	return groupPath(version.Group) + "/" + version.Version
}

func groupPath(group string) string { return "/apis/" + group }
