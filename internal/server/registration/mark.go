// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// markHeader and markValue are in our answers about the resources of a group version.
// The cluster's proxy passes them on; for a CRD it answers itself, without them.
const (
	markHeader = "Docket-Serves"
	markValue  = "reports"
)

// Mark adds to handler's answers about the resources of the group versions by what a
// Checker knows that they come from here.
func Mark(handler http.Handler, versions []schema.GroupVersion) http.Handler {
	ours := map[string]bool{}
	for _, version := range versions {
		ours[versionPath(version)] = true
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ours[r.URL.Path] {
			w.Header().Set(markHeader, markValue)
		}
		handler.ServeHTTP(w, r)
	})
}

func versionPath(version schema.GroupVersion) string {
	return groupPath(version.Group) + "/" + version.Version
}

func groupPath(group string) string { return "/apis/" + group }
