// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// TestBundleOfOthersStays: where somebody else writes it, it is left alone and serves new webhooks,
// and requests are denied only once it is there.
func TestBundleOfOthersStays(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(shipped("inject"))
	s := newSituation(t, enforcing(true, gadgets("inject")))
	s.bundle = nil
	config := s.config(client, "inject")
	config.InjectFrom = "docket-system/webhook"
	r := NewRegistrar(config)
	reconcile := func(want string, wantErr error) *admissionregistrationv1.ValidatingWebhookConfiguration {
		t.Helper()
		if err := r.reconcile(t.Context()); !errors.Is(err, wantErr) {
			t.Fatal(err)
		}
		awaitHooks(t, client, "inject", is(want))
		return testkit.Must(read(t.Context(), client, "inject"))(t)
	}
	const rule = "inject.example.com/v1 gadgets CREATE,UPDATE"
	have := reconcile("fail Ignore "+rule, errBundle)
	if have.Annotations[injectAnnotation] != "docket-system/webhook" {
		t.Error("cert-manager is not asked for a bundle")
	}
	have.Webhooks[0].ClientConfig.CABundle = []byte("injected")
	testkit.Must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Update(t.Context(), have, metav1.UpdateOptions{}))(t)
	reconcile("fail Fail "+rule, nil)
	s.policies = append(s.policies, enforcing(false, gadgets("inject")))
	have = reconcile("fail Fail "+rule+" | igno Ignore "+rule, nil)
	for _, hook := range have.Webhooks {
		if string(hook.ClientConfig.CABundle) != "injected" {
			t.Errorf("%s has the bundle %q", hook.Name, hook.ClientConfig.CABundle)
		}
	}
}

// TestMissingBundleIsSaid: while cert-manager has not written the bundle, an Event, a gauge and a counter say so. Not
// parallel: as TestMetrics.
func TestMissingBundleIsSaid(t *testing.T) {
	RegisterMetrics()
	client, events := fake.NewClientset(shipped("bundle")), record.NewFakeRecorder(10)
	s := newSituation(t, enforcing(true, gadgets("bundle")))
	s.bundle = nil
	config := s.config(client, "bundle")
	config.InjectFrom, config.Recorder = "docket-system/webhook", events
	r := NewRegistrar(config)
	last := ""
	for range 2 { // What was written, and what was found.
		last = r.report(t.Context(), r.reconcile(t.Context()), last)
		await(t, "docket_controller_webhook_bundle_missing 1\n", `docket_controller_webhook_configuration_errors_total{reason="bundle"} `)
	}
	if len(events.Events) != 1 {
		t.Fatalf("%d Events", len(events.Events))
	}
	if got := <-events.Events; !strings.Contains(got, "Warning BundleMissing cert-manager has not written") || !strings.Contains(got, "docket-system/webhook") {
		t.Errorf("the Event is %q", got)
	}
	have := testkit.Must(read(t.Context(), client, "bundle"))(t)
	have.Webhooks[0].ClientConfig.CABundle = []byte("injected")
	testkit.Must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Update(t.Context(), have, metav1.UpdateOptions{}))(t)
	if last = r.report(t.Context(), r.reconcile(t.Context()), last); last != "" || len(events.Events) != 0 {
		t.Errorf("once it is there: %q, %d Events", last, len(events.Events))
	}
	await(t, "docket_controller_webhook_bundle_missing 0\n")
}
