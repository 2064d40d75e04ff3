// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import "net/http"

func health() []Breakage {
	return []Breakage{
		{
			Check: "health-livez-readyz", What: "has no /readyz",
			Break: Instead(Path("/readyz"), func(w http.ResponseWriter, r *http.Request, _ http.Handler) { http.NotFound(w, r) }),
		},
		{
			Check: "health-version", What: "does not say which version it has",
			Break: OnAnswered(Path("/version"), func(object map[string]any) { delete(object, "gitVersion") }),
		},
		{
			Check: "health-metrics", What: "has metrics in JSON",
			Break: OnAnswer(Path("/metrics"), func(_ *http.Request, a *Answer) {
				a.Header.Set("Content-Type", "application/json")
				a.Set(map[string]any{"requests_total": 1})
			}),
		},
	}
}
