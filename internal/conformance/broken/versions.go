// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"strings"
)

func versions() []Breakage {
	return []Breakage{
		{
			Check: "versions-readable", What: "reads an object in its older version as it is in the newer one",
			Break: OnAnswered(Method(http.MethodGet, Single, olderVersion), func(object map[string]any) {
				if version, ok := object["apiVersion"].(string); ok {
					newer, _, _ := strings.Cut(version, "beta")
					object["apiVersion"] = newer
				}
			}),
		},
		{
			Check: "versions-round-trip", What: "forgets annotations that are written in its older version",
			Break: OnSentObject(Method(http.MethodPut, Single, olderVersion), func(object map[string]any) {
				delete(FieldsOf(object, "metadata"), "annotations")
			}),
		},
	}
}

// olderVersion matches requests in a version like v1beta1.
func olderVersion(r *http.Request) bool {
	p := PlaceOf(r)
	return p != nil && strings.Contains(p.Version, "beta")
}
