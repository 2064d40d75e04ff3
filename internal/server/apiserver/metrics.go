// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/docket-project/docket/internal/kit/buildinfo"
	"github.com/docket-project/docket/internal/server/registration"
	"github.com/docket-project/docket/internal/store"
)

var (
	buildInfo = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "docket_build_info",
		Help:           "Always 1; the labels say what is running.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"version", "commit", "go_version"})
	unmetRequirements = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "docket_apiserver_unmet_requirement",
		Help:           "1 for each part that was left out because the cluster does not offer or not allow what it needs.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"part"})
)

var (
	certificateExpiry = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name:           "docket_apiserver_certificate_expiry_timestamp_seconds",
		Help:           "With --tls-secret: when the certificates of this server end, in seconds since 1970: the serving one of this replica, and the authority that signs.",
		StabilityLevel: metrics.ALPHA,
	}, []string{"certificate"})
	certificateErrors = metrics.NewCounter(&metrics.CounterOpts{
		Name:           "docket_apiserver_certificate_errors_total",
		Help:           "With --tls-secret: attempts to read or renew the certificates, or to have the APIServices trust them, that failed.",
		StabilityLevel: metrics.ALPHA,
	})
)

var sweptReports = metrics.NewCounter(&metrics.CounterOpts{
	Name:           "docket_apiserver_swept_reports_total",
	Help:           "Reports that this server deleted because their namespace had ended, and the cluster had not deleted them.",
	StabilityLevel: metrics.ALPHA,
})

var refusedBodies = metrics.NewCounterVec(&metrics.CounterOpts{
	Name:           "docket_apiserver_refused_bodies_total",
	Help:           "Requests that were refused because of their body: too_large, too_slow, or busy with other large ones.",
	StabilityLevel: metrics.ALPHA,
}, []string{"reason"})

// registerMetrics makes the metrics of the process visible, once.
var registerMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(buildInfo, unmetRequirements, sweptReports, refusedBodies, certificateExpiry, certificateErrors)
	build := buildinfo.Get()
	buildInfo.WithLabelValues(build.Version, build.Commit, build.GoVersion).Set(1)
	store.RegisterMetrics()
	registration.RegisterMetrics()
})
