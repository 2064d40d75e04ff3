// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/certificate/rotation"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// replica returns the source of one replica.
func replica(client kubernetes.Interface, secret string, at clock.WithTicker) rotation.Source {
	config := &Config{Client: client, Namespace: "default", Secret: secret, Service: "hook", Clock: at}
	return config.certificates()
}

func emptySecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agree-empty", Labels: map[string]string{"mine": "stays"}}}
}

// TestReplicasAgree: those who start at once, at a Secret that is empty and at one that is missing,
// all serve what one of them wrote.
func TestReplicasAgree(t *testing.T) {
	t.Parallel()
	client := cluster(t)
	testkit.Must(client.CoreV1().Secrets("default").Create(t.Context(), emptySecret(), metav1.CreateOptions{}))(t)
	for _, secret := range []string{"agree-empty", "agree-missing"} {
		const replicas = 8
		results, errs := make([]*rotation.Certificates, replicas), make([]error, replicas)
		var group sync.WaitGroup
		for i := range replicas {
			group.Go(func() { results[i], errs[i] = replica(client, secret, clock.RealClock{}).Load(t.Context()) })
		}
		group.Wait()
		for i := range replicas {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if !bytes.Equal(results[i].Pair.Certificate[0], results[0].Pair.Certificate[0]) || !bytes.Equal(results[i].Bundle, results[0].Bundle) {
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
	load := func(s rotation.Source) *rotation.Certificates {
		t.Helper()
		return testkit.Must(s.Load(t.Context()))(t)
	}
	before := load(one)
	now.Step(rotation.ServingLifetime / 4 * 3)
	renewed, followed := load(one), load(other)
	if bytes.Equal(before.Pair.Certificate[0], renewed.Pair.Certificate[0]) {
		t.Error("nothing was renewed after three quarters of the time")
	}
	if !bytes.Equal(followed.Pair.Certificate[0], renewed.Pair.Certificate[0]) {
		t.Error("the other replica has a certificate of its own")
	}
}

func TestTrustedBy(t *testing.T) {
	t.Parallel()
	authority := func() *certificate.Pair {
		return testkit.Must(certificate.NewAuthority("test", time.Now(), day))(t)
	}
	one, other := authority(), authority()
	hooks := func(bundles ...[]byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
		result := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}}
		for _, bundle := range bundles {
			result.Webhooks = append(result.Webhooks, admissionregistrationv1.ValidatingWebhook{
				ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: bundle},
			})
		}
		return result
	}
	both := slices.Concat(other.CertificatePEM, one.CertificatePEM)
	for name, test := range map[string]struct {
		objects []runtime.Object
		want    bool
	}{
		"no configuration": {nil, true},
		"no webhooks":      {[]runtime.Object{hooks()}, true},
		"each has it":      {[]runtime.Object{hooks(both, one.CertificatePEM)}, true},
		"one lacks it":     {[]runtime.Object{hooks(both, other.CertificatePEM)}, false},
		"no bundle":        {[]runtime.Object{hooks(nil)}, false},
		"garbage":          {[]runtime.Object{hooks([]byte("x"))}, false},
	} {
		got, err := TrustedBy(fake.NewClientset(test.objects...), "hooks")(context.Background(), one.Certificate)
		if err != nil || got != test.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
