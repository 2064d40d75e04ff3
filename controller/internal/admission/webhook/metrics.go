// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/docket-project/docket/internal/kit/certificate/rotation"
)

// Labels of certificates and webhooks.
const (
	certificateServing   = "serving"
	certificateAuthority = "authority"

	webhookFail   = "fail"
	webhookIgnore = "ignore"
)

// Reasons why a configuration is not right.
const (
	reasonForeign = "foreign"
	reasonMissing = "missing"
	reasonWaiting = "waiting"
	reasonAPI     = "api"
	reasonDropped = "dropped"
	reasonBundle  = "bundle"
)

var (
	certificateExpiry = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "docket_controller_webhook_certificate_expiry_timestamp_seconds", StabilityLevel: metrics.ALPHA,
		Help: "When the webhook's certificates end, in seconds since 1970: the serving one of this replica, and the authority that signs.",
	}, []string{"certificate"})
	certificateErrors = metrics.NewCounter(&metrics.CounterOpts{
		Name: "docket_controller_webhook_certificate_errors_total", StabilityLevel: metrics.ALPHA,
		Help: "Attempts to load or renew the webhook's certificates that failed.",
	})
	handshakeErrors = metrics.NewCounter(&metrics.CounterOpts{
		Name: "docket_controller_webhook_tls_errors_total", StabilityLevel: metrics.ALPHA,
		Help: "Connections to the webhook that ended before a request, mostly because the caller does not trust the certificate.",
	})
	connectionsClosed = metrics.NewCounter(&metrics.CounterOpts{
		Name: "docket_controller_webhook_connections_closed_total", StabilityLevel: metrics.ALPHA,
		Help: "Connections to the webhook that were closed because there were too many, of one address or of all.",
	})
	configurationErrors = metrics.NewCounterVec(&metrics.CounterOpts{
		Name: "docket_controller_webhook_configuration_errors_total", StabilityLevel: metrics.ALPHA,
		Help: "Attempts to keep the webhook configuration right that failed: missing if it does not exist, foreign if it is somebody else's, waiting if nobody can answer requests, bundle if cert-manager has not written the bundle, dropped if the API server does not keep all of it, api for all others.",
	}, []string{"reason"})
	configurationWrites = metrics.NewCounter(&metrics.CounterOpts{
		Name: "docket_controller_webhook_configuration_writes_total", StabilityLevel: metrics.ALPHA,
		Help: "How often the webhook configuration was written.",
	})
	bundleMissing = metrics.NewGauge(&metrics.GaugeOpts{
		Name: "docket_controller_webhook_bundle_missing", StabilityLevel: metrics.ALPHA,
		Help: "1 while cert-manager has not written the bundle of the webhook configuration, so that nothing is denied.",
	})
	ruleCount = metrics.NewGaugeVec(&metrics.GaugeOpts{
		Name: "docket_controller_webhook_rules", StabilityLevel: metrics.ALPHA,
		Help: "Rules of the webhook configuration by webhook: fail if it denies what can't be evaluated, ignore if it allows that.",
	}, []string{"webhook"})
)

// RegisterMetrics adds the metrics of this package to the registry of the process. Further calls do
// nothing.
//
//nolint:gochecknoglobals // As in the other packages: the registry is global.
var RegisterMetrics = sync.OnceFunc(func() {
	legacyregistry.MustRegister(certificateExpiry, certificateErrors, handshakeErrors, connectionsClosed, configurationErrors, configurationWrites, bundleMissing, ruleCount)
})

func observeCertificates(l *rotation.Certificates) {
	certificateExpiry.WithLabelValues(certificateServing).Set(float64(l.Pair.Leaf.NotAfter.Unix()))
	if !l.AuthorityEnd.IsZero() {
		certificateExpiry.WithLabelValues(certificateAuthority).Set(float64(l.AuthorityEnd.Unix()))
	}
}
