// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

var secretKind = schema.GroupResource{Resource: "secrets"}

// replica returns the source of one replica.
func replica(client kubernetes.Interface, secret string, at clock.WithTicker) *shared {
	config := &Config{Client: client, Namespace: "default", Secret: secret, Service: "hook", Clock: at}
	return newShared(config)
}

func emptySecret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"mine": "stays"}}}
}

// TestReplicasAgree: those who start at once, at a Secret that is empty and at one that is missing,
// all serve what one of them wrote.
func TestReplicasAgree(t *testing.T) {
	t.Parallel()
	client := cluster(t)
	if _, err := client.CoreV1().Secrets("default").Create(t.Context(), emptySecret("agree-empty"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"agree-empty", "agree-missing"} {
		const replicas = 8
		results, errs := make([]*loaded, replicas), make([]error, replicas)
		var group sync.WaitGroup
		for i := range replicas {
			group.Go(func() { results[i], errs[i] = replica(client, secret, clock.RealClock{}).load(t.Context()) })
		}
		group.Wait()
		for i := range replicas {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if !bytes.Equal(results[i].pair.Certificate[0], results[0].pair.Certificate[0]) || !bytes.Equal(results[i].bundle, results[0].bundle) {
				t.Errorf("%s: replica %d serves another certificate", secret, i)
			}
		}
		stored, err := client.CoreV1().Secrets("default").Get(t.Context(), secret, metav1.GetOptions{})
		if err != nil || stored.Annotations[ownAnnotation] != ownValue || secret == "agree-empty" && stored.Labels["mine"] != "stays" {
			t.Errorf("%s: stored with %v %v, %v", secret, stored.Annotations, stored.Labels, err)
		}
	}
}

// TestRenewalIsFollowed: what one replica renews, the other takes, and writes nothing itself.
func TestRenewalIsFollowed(t *testing.T) {
	t.Parallel()
	client, now := cluster(t), clocktesting.NewFakeClock(time.Now())
	one, other := replica(client, "follow", now), replica(client, "follow", now)
	load := func(s *shared) *loaded {
		t.Helper()
		result, err := s.load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	before := load(one)
	now.Step(servingLifetime / 4 * 3)
	renewed, followed := load(one), load(other)
	if bytes.Equal(before.pair.Certificate[0], renewed.pair.Certificate[0]) {
		t.Error("nothing was renewed after three quarters of the time")
	}
	if !bytes.Equal(followed.pair.Certificate[0], renewed.pair.Certificate[0]) {
		t.Error("the other replica has a certificate of its own")
	}
}

func TestSecretTroubleIsExplained(t *testing.T) {
	t.Parallel()
	forbid := func(verb string) func(*fake.Clientset) {
		return func(client *fake.Clientset) {
			client.PrependReactor(verb, "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewForbidden(secretKind, "tls", errors.New("RBAC"))
			})
		}
	}
	foreign := emptySecret("tls")
	foreign.Data = map[string][]byte{corev1.TLSCertKey: []byte("x")}
	for name, test := range map[string]struct {
		secret *corev1.Secret
		change func(*fake.Clientset)
		want   string
	}{
		"missing, not creatable": {nil, forbid("create"), "create it empty, as the manifests do"},
		"not writable":           {emptySecret("tls"), forbid("update"), "secret default/tls: secrets \"tls\" is forbidden"},
		"not readable":           {emptySecret("tls"), forbid("get"), "secret default/tls: secrets \"tls\" is forbidden"},
		"somebody else's":        {foreign, func(*fake.Clientset) {}, "--webhook-cert-dir"},
	} {
		client := fake.NewClientset()
		if test.secret != nil {
			client = fake.NewClientset(test.secret)
		}
		test.change(client)
		if got, err := replica(client, "tls", clock.RealClock{}).load(t.Context()); got != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}

// TestOldCertificateServesWhileItCantBeRenewed: an API server that is away costs nothing until the
// end of the certificate.
func TestOldCertificateServesWhileItCantBeRenewed(t *testing.T) {
	t.Parallel()
	client, now := fake.NewClientset(emptySecret("tls")), clocktesting.NewFakeClock(time.Now())
	source := replica(client, "tls", now)
	before, err := source.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("away")
	})
	now.Step(servingLifetime / 4 * 3)
	during, err := source.load(t.Context())
	if err == nil || !strings.Contains(err.Error(), "renew the certificate: away") {
		t.Errorf("error %v, want one that says what can't be renewed", err)
	}
	if during == nil || !bytes.Equal(during.pair.Certificate[0], before.pair.Certificate[0]) {
		t.Error("the certificate of before is not served")
	}
	now.Step(servingLifetime)
	if after, err := source.load(t.Context()); after != nil || err == nil {
		t.Errorf("a certificate that has expired is served; error %v", err)
	}
}

// TestDamagedSecretIsMadeAgain: and nothing that is logged or returned on the way has a key in it.
func TestDamagedSecretIsMadeAgain(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(emptySecret("tls"))
	var logged bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(10), textlogger.Output(&logged))))
	source := replica(client, "tls", clock.RealClock{})
	if _, err := source.load(ctx); err != nil {
		t.Fatal(err)
	}
	stored, err := client.CoreV1().Secrets("default").Get(t.Context(), "tls", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	key := string(stored.Data[authoritySecret])
	stored.Data[authoritySecret] = []byte(key[:len(key)/2])
	if _, err := client.CoreV1().Secrets("default").Update(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	again, err := source.load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(again.bundle)
	if _, err := again.pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "hook.default.svc"}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(logged.String(), "damaged") {
		t.Error("nobody is told")
	}
	if lines := strings.Split(key, "\n"); strings.Contains(logged.String(), "PRIVATE") || strings.Contains(logged.String(), lines[1]) {
		t.Error("a key is logged")
	}
}

func TestTrustedBy(t *testing.T) {
	t.Parallel()
	one, other := renew(t, renewal{now: start()}, nil, "certificate"), renew(t, renewal{now: start()}, nil, "certificate")
	text := func(m *material) []byte {
		data, err := m.bundle.PEM()
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	hooks := func(bundles ...[]byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
		result := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}}
		for _, bundle := range bundles {
			result.Webhooks = append(result.Webhooks, admissionregistrationv1.ValidatingWebhook{
				ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: bundle},
			})
		}
		return result
	}
	both := append(text(other), text(one)...)
	for name, test := range map[string]struct {
		objects []runtime.Object
		want    bool
	}{
		"no configuration": {nil, true},
		"no webhooks":      {[]runtime.Object{hooks()}, true},
		"each has it":      {[]runtime.Object{hooks(both, text(one))}, true},
		"one lacks it":     {[]runtime.Object{hooks(both, text(other))}, false},
		"no bundle":        {[]runtime.Object{hooks(nil)}, false},
		"garbage":          {[]runtime.Object{hooks([]byte("x"))}, false},
	} {
		got, err := TrustedBy(fake.NewClientset(test.objects...), "hooks")(context.Background(), one.signer.Certificate)
		if err != nil || got != test.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
