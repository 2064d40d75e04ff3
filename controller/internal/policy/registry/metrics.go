// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"

	"github.com/docket-project/docket/internal/kit/metric"
)

// Values of the label result.
const (
	resultKept    = "kept"
	resultAway    = "away"
	resultOK      = "ok"
	resultMissing = "missing"
	resultRefused = "refused"
	resultFailed  = "failed"
)

var requests = metric.Counters("docket_controller_registry_requests_total",
	"What policies asked image registries, by result: kept if an earlier answer served, away if the registry has not answered lately and was not asked; of those that were asked, ok, missing, refused (without rights, or too often), failed.",
	"result")

// RegisterMetrics registers the metrics of all clients.
var RegisterMetrics = metric.Registration(requests)

func resultOf(out *answer) string {
	switch {
	case out.err != nil || out.status >= http.StatusInternalServerError:
		return resultFailed
	case out.status == http.StatusNotFound:
		return resultMissing
	case out.status >= http.StatusBadRequest:
		return resultRefused
	default:
		return resultOK
	}
}
