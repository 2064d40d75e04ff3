// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenReads are servers that break the rules of this area.
func brokenReads() map[string]broken.Server {
	return map[string]broken.Server{
		"get-object": broken.That("answers GET with names of its own for kinds, and takes them for the kinds", ownKinds),
		"get-not-found": broken.That("answers 404 with a text instead of a Status", broken.OnAnswer(broken.Method(http.MethodGet, broken.Single), func(_ *http.Request, a *broken.Answer) {
			if a.Code == http.StatusNotFound {
				a.Header.Set("Content-Type", "text/plain")
				a.Body = []byte("404 page not found\n")
			}
		})),
	}
}

// ownKinds changes the kinds of objects that are read, be it as JSON or YAML, and has them back when they
// are sent.
func ownKinds(next http.Handler) http.Handler {
	const suffix = "Object"
	yamlKind := regexp.MustCompile(`(?m)^kind: (\w+)$`)
	changing := func(r *http.Request) bool {
		return r.Method != http.MethodGet && broken.PlaceOf(r) != nil && !broken.IsCore(r)
	}
	sent := broken.OnBody(changing, func(_ *http.Request, object map[string]any) bool {
		kind, _ := object["kind"].(string)
		own, changed := strings.CutSuffix(kind, suffix)
		object["kind"] = own
		return changed
	})
	read := broken.OnAnswer(broken.AsObject(broken.Single), func(_ *http.Request, a *broken.Answer) {
		if !a.OK() {
			return
		}
		a.Edit(func(object map[string]any) {
			if kind, ok := object["kind"].(string); ok {
				object["kind"] = kind + suffix
			}
		})
		a.Body = yamlKind.ReplaceAll(a.Body, []byte("kind: ${1}"+suffix))
	})
	return sent(read(next))
}
