// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"sync"

	"github.com/docket-project/docket/internal/kit/buildinfo"
	"github.com/docket-project/docket/internal/kit/metric"
	"github.com/docket-project/docket/internal/server/registration"
	"github.com/docket-project/docket/internal/store"
)

var (
	buildInfo = metric.Gauges("docket_build_info",
		"Always 1; the labels say what is running.", "version", "commit", "go_version")
	unmetRequirements = metric.Gauges("docket_apiserver_unmet_requirement",
		"1 for each part that was left out because the cluster does not offer or not allow what it needs.", "part")
	certificateExpiry = metric.Gauges("docket_apiserver_certificate_expiry_timestamp_seconds",
		"With --tls-secret: when the certificates of this server end, in seconds since 1970: the serving one of this replica, and the authority that signs.", "certificate")
	certificateErrors = metric.Counter("docket_apiserver_certificate_errors_total",
		"With --tls-secret: attempts to read or renew the certificates, or to have the APIServices trust them, that failed.")
	sweptReports = metric.Counter("docket_apiserver_swept_reports_total",
		"Reports that this server deleted because their namespace had ended, and the cluster had not deleted them.")
	definitionsRefused = metric.Gauge("docket_apiserver_definitions_refused",
		"With --custom-resources: 1 while the files have definitions that can't be served; those from before are.")
	resultsOutdated = metric.Gauge("docket_apiserver_results_outdated",
		"1 while results of stored objects are by other mappings than this server's: they are being made again, or another replica has other files.")
	refusedBodies = metric.Counters("docket_apiserver_refused_bodies_total",
		"Requests that were refused because of their body: too_large, too_slow, or busy with other large ones.", "reason")
)

// registerMetrics makes the metrics of the process visible, once.
var registerMetrics = sync.OnceFunc(func() {
	metric.Registration(buildInfo, definitionsRefused, resultsOutdated, unmetRequirements, sweptReports, refusedBodies, certificateExpiry, certificateErrors)()
	build := buildinfo.Get()
	buildInfo.WithLabelValues(build.Version, build.Commit, build.GoVersion).Set(1)
	store.RegisterMetrics()
	registration.RegisterMetrics()
})
