// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"strings"
	"testing"

	"github.com/docket-project/docket/conformance/broken"
	"github.com/docket-project/docket/conformance/conformancetest"
)

// brokenVersions are servers that break the rules of this area.
func brokenVersions() map[string]broken.Server {
	return map[string]broken.Server{
		"versions-readable": broken.That("reads an object in its older version as it is in the newer one", broken.OnAnswered(broken.Method(http.MethodGet, broken.Single, olderVersion), func(object map[string]any) {
			if version, ok := object["apiVersion"].(string); ok {
				newer, _, _ := strings.Cut(version, "beta")
				object["apiVersion"] = newer
			}
		})),
		"versions-round-trip": broken.That("forgets annotations that are written in its older version", broken.OnSentObject(broken.Method(http.MethodPut, broken.Single, olderVersion), func(object map[string]any) {
			delete(broken.FieldsOf(object, "metadata"), "annotations")
		})),
	}
}

// TestVersionsReadableWithoutKind: what has no kind is not the object.
func TestVersionsReadableWithoutKind(t *testing.T) {
	t.Parallel()
	options := options(t, examples, "widgets")
	options.Only = []string{"versions-readable"}
	server := broken.That("reads an object in its older version without its kind", broken.OnAnswered(broken.Method(http.MethodGet, broken.Single, olderVersion), func(object map[string]any) {
		delete(object, "kind")
	}))
	if err := conformancetest.Prove(t.Context(), options, "versions-readable", server); err != nil {
		t.Errorf("the server %s:\n%v", server.What, err)
	}
}

// olderVersion matches requests in a version like v1beta1.
func olderVersion(r *http.Request) bool {
	p := broken.PlaceOf(r)
	return p != nil && strings.Contains(p.Version, "beta")
}
