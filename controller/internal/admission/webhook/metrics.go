// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"github.com/docket-project/docket/internal/kit/certificate/rotation"
	"github.com/docket-project/docket/internal/kit/metric"
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
	certificateExpiry   = metric.Gauges("docket_controller_webhook_certificate_expiry_timestamp_seconds", "When the webhook's certificates end, in seconds since 1970: the serving one of this replica, and the authority that signs.", "certificate")
	certificateErrors   = metric.Counter("docket_controller_webhook_certificate_errors_total", "Attempts to load or renew the webhook's certificates that failed.")
	handshakeErrors     = metric.Counter("docket_controller_webhook_tls_errors_total", "Connections to the webhook that ended before a request, mostly because the caller does not trust the certificate.")
	connectionsClosed   = metric.Counter("docket_controller_webhook_connections_closed_total", "Connections to the webhook that were closed because there were too many, of one address or of all.")
	configurationErrors = metric.Counters("docket_controller_webhook_configuration_errors_total", "Attempts to keep the webhook configuration right that failed: missing if it does not exist, foreign if it is somebody else's, waiting if nobody can answer requests, bundle if cert-manager has not written the bundle, dropped if the API server does not keep all of it, api for all others.", "reason")
	configurationWrites = metric.Counter("docket_controller_webhook_configuration_writes_total", "How often the webhook configuration was written.")
	bundleMissing       = metric.Gauge("docket_controller_webhook_bundle_missing", "1 while cert-manager has not written the bundle of the webhook configuration, so that nothing is denied.")
	ruleCount           = metric.Gauges("docket_controller_webhook_rules", "Rules of the webhook configuration by webhook: fail if it denies what can't be evaluated, ignore if it allows that.", "webhook")
)

// RegisterMetrics adds the metrics of this package to the registry of the process.
var RegisterMetrics = metric.Registration(certificateExpiry, certificateErrors, handshakeErrors, connectionsClosed, configurationErrors, configurationWrites, bundleMissing, ruleCount)

func observeCertificates(l *rotation.Certificates) {
	certificateExpiry.WithLabelValues(certificateServing).Set(float64(l.Pair.Leaf.NotAfter.Unix()))
	if !l.AuthorityEnd.IsZero() {
		certificateExpiry.WithLabelValues(certificateAuthority).Set(float64(l.AuthorityEnd.Unix()))
	}
}
