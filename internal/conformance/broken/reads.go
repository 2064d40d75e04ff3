// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import (
	"net/http"
	"regexp"
	"strings"
)

func reads() []Breakage {
	return []Breakage{
		{
			Check: "get-object", What: "answers GET with names of its own for kinds, and takes them for the kinds",
			Break: ownKinds,
		},
		{
			Check: "get-not-found", What: "answers 404 with a text instead of a Status",
			Break: onAnswer(method(http.MethodGet, single), func(_ *http.Request, a *answer) {
				if a.code == http.StatusNotFound {
					a.header.Set("Content-Type", "text/plain")
					a.body = []byte("404 page not found\n")
				}
			}),
		},
	}
}

// ownKinds changes the kinds of objects that are read, be it as JSON or YAML, and has them back when they
// are sent.
func ownKinds(next http.Handler) http.Handler {
	const suffix = "Object"
	yamlKind := regexp.MustCompile(`(?m)^kind: (\w+)$`)
	changing := func(r *http.Request) bool { return r.Method != http.MethodGet && placeOf(r) != nil && !isCore(r) }
	sent := onBody(changing, func(_ *http.Request, object map[string]any) bool {
		kind, _ := object["kind"].(string)
		own, changed := strings.CutSuffix(kind, suffix)
		object["kind"] = own
		return changed
	})
	read := onAnswer(asObject(single), func(_ *http.Request, a *answer) {
		if !a.ok() {
			return
		}
		a.edit(func(object map[string]any) {
			if kind, ok := object["kind"].(string); ok {
				object["kind"] = kind + suffix
			}
		})
		a.body = yamlKind.ReplaceAll(a.body, []byte("kind: ${1}"+suffix))
	})
	return sent(read(next))
}
