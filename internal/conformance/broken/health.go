// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package broken

import "net/http"

func health() []Breakage {
	return []Breakage{
		{
			Check: "health-livez-readyz", What: "has no /readyz",
			Break: instead(path("/readyz"), func(w http.ResponseWriter, r *http.Request, _ http.Handler) { http.NotFound(w, r) }),
		},
		{
			Check: "health-version", What: "does not say which version it has",
			Break: onAnswered(path("/version"), func(object map[string]any) { delete(object, "gitVersion") }),
		},
		{
			Check: "health-metrics", What: "has metrics in JSON",
			Break: onAnswer(path("/metrics"), func(_ *http.Request, a *answer) {
				a.header.Set("Content-Type", "application/json")
				a.set(map[string]any{"requests_total": 1})
			}),
		},
	}
}
