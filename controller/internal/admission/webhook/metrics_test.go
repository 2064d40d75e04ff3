// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/component-base/metrics/legacyregistry"
)

// metricsText returns the metrics of the process, each line after a newline.
func metricsText(t *testing.T) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	legacyregistry.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return "\n" + recorder.Body.String()
}

// TestMetrics: all are there, and say what is going on. Not parallel, because the gauges are those
// of the last one that looked.
func TestMetrics(t *testing.T) {
	dir := t.TempDir()
	issue(t, dir, true)
	server := newTestServer(t, Config{CertDir: dir, Drain: -1})
	background(t, server.Run)
	eventually(t, server.Ready)
	if _, err := call(t.Context(), server.Address(), &tls.Config{ServerName: "127.0.0.1"}); err == nil {
		t.Error("a caller without the authority accepts the certificate")
	}
	client := fake.NewClientset(shipped("ours"), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}})
	s := newSituation(t, enforcing(true, gadgets("metrics"), gadgets("more")))
	foreign, ours := NewRegistrar(s.config(client, "theirs")), NewRegistrar(s.config(client, "ours"))
	background(t, foreign.Run)
	stop := background(t, ours.Run)
	end := fmt.Sprintf("%v", float64(server.keeper.Current().Pair.Leaf.NotAfter.Unix()))
	await(t,
		`docket_controller_webhook_certificate_expiry_timestamp_seconds{certificate="serving"} `+end,
		`docket_controller_webhook_certificate_expiry_timestamp_seconds{certificate="authority"} `+end,
		`docket_controller_webhook_certificate_errors_total `,
		`docket_controller_webhook_tls_errors_total `,
		`docket_controller_webhook_configuration_errors_total{reason="foreign"} `,
		`docket_controller_webhook_configuration_writes_total `,
		`docket_controller_webhook_rules{webhook="fail"} 2`,
		`docket_controller_webhook_rules{webhook="ignore"} 0`,
	)
	eventually(t, func() error {
		if strings.Contains(metricsText(t), "\ndocket_controller_webhook_tls_errors_total 0") {
			return errors.New("the failed handshake is not counted")
		}
		return nil
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	if strings.Contains(metricsText(t), "\ndocket_controller_webhook_rules{") {
		t.Error("rules are shown by one who doesn't keep them any more")
	}
}

// await waits for lines that begin so.
func await(t *testing.T, lines ...string) {
	t.Helper()
	eventually(t, func() error {
		text := metricsText(t)
		for _, line := range lines {
			if !strings.Contains(text, "\n"+line) {
				return errors.New(line + "… is missing in" + text)
			}
		}
		return nil
	})
}
