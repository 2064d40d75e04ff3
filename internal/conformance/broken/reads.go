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
			Break: OnAnswer(Method(http.MethodGet, Single), func(_ *http.Request, a *Answer) {
				if a.Code == http.StatusNotFound {
					a.Header.Set("Content-Type", "text/plain")
					a.Body = []byte("404 page not found\n")
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
	changing := func(r *http.Request) bool { return r.Method != http.MethodGet && PlaceOf(r) != nil && !IsCore(r) }
	sent := OnBody(changing, func(_ *http.Request, object map[string]any) bool {
		kind, _ := object["kind"].(string)
		own, changed := strings.CutSuffix(kind, suffix)
		object["kind"] = own
		return changed
	})
	read := OnAnswer(AsObject(Single), func(_ *http.Request, a *Answer) {
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
