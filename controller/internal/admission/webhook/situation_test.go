// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/docket-project/docket/controller/internal/cluster/served"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// gadgets are not served: what is registered for them disturbs no other test.
func gadgets(group string) policy.Target {
	return policy.Target{Group: group + ".example.com", Version: "v1", Resource: "gadgets"}
}

// situation is what a registrar sees, which a test changes.
type situation struct {
	mu       sync.Mutex
	policies []policy.Policy
	known    bool
	catalog  *served.Catalog
	bundle   []byte
	serving  error
	changed  func()
}

func (s *situation) set(change func(*situation)) {
	s.mu.Lock()
	change(s)
	changed := s.changed
	s.mu.Unlock()
	if changed != nil {
		changed()
	}
}

// config returns one with a long interval: what happens, happens because of a change.
func (s *situation) config(client kubernetes.Interface, name string) RegistrarConfig {
	return RegistrarConfig{
		Client: client, Name: name, URL: "https://127.0.0.1:9443/", FailPath: "/fail", IgnorePath: "/ignore", Interval: time.Hour,
		Policies: func() ([]policy.Policy, bool) { s.mu.Lock(); defer s.mu.Unlock(); return s.policies, s.known },
		Catalog:  func() *served.Catalog { s.mu.Lock(); defer s.mu.Unlock(); return s.catalog },
		CABundle: func() []byte { s.mu.Lock(); defer s.mu.Unlock(); return s.bundle },
		Serving:  func() error { s.mu.Lock(); defer s.mu.Unlock(); return s.serving },
		Subscribe: []func(func()) func(){func(changed func()) func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.changed = changed
			return func() { s.set(func(s *situation) { s.changed = nil }) }
		}},
	}
}

func newSituation(t *testing.T, policies ...policy.Policy) *situation {
	t.Helper()
	return &situation{policies: policies, known: true, catalog: testCatalog(t), bundle: testBundle(t)}
}

func testBundle(t *testing.T) []byte {
	t.Helper()
	authority := testkit.Must(certificate.NewAuthority("test", time.Now(), day))(t)
	return authority.CertificatePEM
}

// shipped is a configuration as the manifests have it.
func shipped(name string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{nameLabel: ownName}}}
}

// ship applies that.
func ship(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	testkit.Must(client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), shipped(name), metav1.CreateOptions{}))(t)
}

func read(ctx context.Context, client kubernetes.Interface, name string) (*admissionregistrationv1.ValidatingWebhookConfiguration, error) {
	return client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
}

// awaitHooks waits for a configuration that check has no complaint about.
func awaitHooks(t *testing.T, client kubernetes.Interface, name string, check func(*admissionregistrationv1.ValidatingWebhookConfiguration) string) {
	t.Helper()
	eventually(t, func() error {
		have, err := read(t.Context(), client, name)
		if err != nil {
			return err
		}
		if complaint := check(have); complaint != "" {
			return errors.New(complaint)
		}
		return nil
	})
}

// hookNames shows webhooks and their resources.
func hookNames(have *admissionregistrationv1.ValidatingWebhookConfiguration) string {
	var parts []string
	for _, hook := range have.Webhooks {
		parts = append(parts, hook.Name[:4]+" "+string(*hook.FailurePolicy)+" "+strings.Join(lines(hook.Rules), "; "))
	}
	return strings.Join(parts, " | ")
}

func is(want string) func(*admissionregistrationv1.ValidatingWebhookConfiguration) string {
	return func(have *admissionregistrationv1.ValidatingWebhookConfiguration) string {
		return cmp.Diff(want, hookNames(have))
	}
}
