// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"net/http"

	"github.com/docket-project/docket/conformance/broken"
)

// brokenHealth are servers that break the rules of this area.
func brokenHealth() map[string]broken.Server {
	return map[string]broken.Server{
		"health-livez-readyz": broken.That("has no /readyz", broken.Instead(broken.Path("/readyz"), func(w http.ResponseWriter, r *http.Request, _ http.Handler) { http.NotFound(w, r) })),
		"health-version":      broken.That("does not say which version it has", broken.OnAnswered(broken.Path("/version"), func(object map[string]any) { delete(object, "gitVersion") })),
		"health-metrics": broken.That("has metrics in JSON", broken.OnAnswer(broken.Path("/metrics"), func(_ *http.Request, a *broken.Answer) {
			a.Header.Set("Content-Type", broken.JSONType)
			a.Set(map[string]any{"requests_total": 1})
		})),
	}
}
