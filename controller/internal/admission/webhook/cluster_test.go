// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/certificate/rotation"
	"github.com/docket-project/docket/internal/kit/testkit"
)

func namespace(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
}

// denier denies what is named deny, and keeps of which namespace and kind ("namespace/Kind") it was
// asked: other tests write to the same API server meanwhile. Each answer ends its connection, so that
// each request takes a new handshake.
func denier(t *testing.T, seen *sync.Map) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
			return
		}
		seen.Store(review.Request.Namespace+"/"+review.Request.Kind.Kind, true)
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: review.Request.Name != "deny"}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Connection", "close")
		if err := json.NewEncoder(w).Encode(review); err != nil {
			t.Error(err)
		}
	})
}

// tryConfigMap asks the API server for a ConfigMap, without keeping it.
func tryConfigMap(ctx context.Context, client kubernetes.Interface, namespace, name string) error {
	_, err := client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// TestAPIServerAsks is all of it together: an API server asks the webhook with the certificates of
// the Secret by the rules of a policy, leaves out what is excluded, goes on asking while the
// authority is replaced, and denies when nobody answers.
func TestAPIServerAsks(t *testing.T) {
	t.Parallel()
	client := cluster(t)
	namespace(t, client, "asked")
	namespace(t, client, "left-out")
	// The authority is due since yesterday, but the clock stays behind until later.
	now := clocktesting.NewFakeClock(time.Now().Add(-rotation.AuthorityLifetime / 3 * 2).Add(-day))
	var seen sync.Map
	server := newTestServer(t, Config{
		Client: client, Namespace: "default", Secret: "asks", Hosts: []string{"127.0.0.1"}, Handler: denier(t, &seen),
		Clock: now, Drain: -1, Trusted: TrustedBy(client, "asks"),
	})
	stopServer := background(t, server.Run)
	eventually(t, server.Ready)
	now.SetTime(time.Now().Add(-11 * day)) // Years pass: a new serving certificate.
	eventually(t, func() error {
		if server.keeper.Current().Pair.Leaf.NotAfter.Before(time.Now()) {
			now.Step(time.Second)
			return errors.New("the certificate has expired")
		}
		return nil
	})

	s := newSituation(t, enforcing(true, policy.Target{Group: "*", Version: "*", Kind: "ConfigMap"}))
	config := s.config(client, "asks")
	config.URL, config.CABundle, config.Serving = "https://"+server.Address(), server.CABundle, server.Ready
	config.Subscribe = append(config.Subscribe, server.Subscribe)
	config.ExcludeNamespaces = []string{"left-out", "conditions"}
	ship(t, client, "asks")
	registrar := NewRegistrar(config)
	stopRegistrar := background(t, registrar.Run)

	eventually(t, func() error {
		if err := tryConfigMap(t.Context(), client, "asked", "deny"); err == nil || !strings.Contains(err.Error(), FailWebhook) {
			return fmt.Errorf("not denied: %w", err)
		}
		return nil
	})
	if err := tryConfigMap(t.Context(), client, "left-out", "deny"); err != nil {
		t.Errorf("a namespace that is left out: %v", err)
	}
	if _, asked := seen.Load("left-out/ConfigMap"); asked {
		t.Error("a namespace that is left out: the webhook is asked")
	}
	replaceAuthority(t, client, server, now)

	if err := stopRegistrar(); err != nil {
		t.Error(err)
	}
	if err := stopServer(); err != nil {
		t.Error(err)
	}
	if err := tryConfigMap(t.Context(), client, "asked", "allow"); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Errorf("nobody answers: %v", err)
	}
	if err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(t.Context(), "asks", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// TestConditionsAreUnderstood: an API server takes the expressions for what they are meant to be,
// those that stand for too many rules included.
func TestConditionsAreUnderstood(t *testing.T) {
	t.Parallel()
	client, dir := cluster(t), t.TempDir()
	namespace(t, client, "conditions")
	issue(t, dir, true)
	var seen sync.Map
	server := newTestServer(t, Config{CertDir: dir, Handler: denier(t, &seen), Drain: -1})
	background(t, server.Run)
	eventually(t, server.Ready)
	s := newSituation(t, enforcing(false, policy.Target{Group: "*", Version: "*", Kind: "ConfigMap"}, gadgets("conditions")))
	config := s.config(client, "conditions")
	config.URL, config.CABundle, config.MaxRules = "https://"+server.Address(), server.CABundle, 1
	config.ExcludeUsers = []string{"left-out", `it's "me"`, "left:*"}
	config.ExcludeNamespaces = []string{"asked", "left-out"}
	ship(t, client, "conditions")
	background(t, NewRegistrar(config).Run)
	t.Cleanup(func() {
		err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(context.WithoutCancel(t.Context()), "conditions", metav1.DeleteOptions{})
		if err != nil {
			t.Error(err)
		}
	})

	as := func(user string) kubernetes.Interface {
		t.Helper()
		config := clusterConfig(t)
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	eventually(t, func() error {
		if err := tryConfigMap(t.Context(), as("somebody"), "conditions", "deny"); err == nil || !strings.Contains(err.Error(), IgnoreWebhook) {
			return fmt.Errorf("not denied: %w", err)
		}
		return nil
	})
	for name, other := range map[string]kubernetes.Interface{
		"user": as("left-out"), "quotes": as(`it's "me"`), "prefix": as("left:me"),
	} {
		if err := tryConfigMap(t.Context(), other, "conditions", "deny"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := client.CoreV1().Endpoints("conditions").Create(t.Context(), &corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{Name: "deny"}}, //nolint:staticcheck // It is one of those that a wildcard never means.
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Errorf("endpoints: %v", err)
	}
	if _, asked := seen.Load("conditions/Endpoints"); asked {
		t.Error("endpoints: the webhook is asked")
	}
	if _, asked := seen.Load("conditions/ConfigMap"); !asked {
		t.Error("what the webhook is asked of is not kept")
	}
	if err := tryConfigMap(t.Context(), as("left"), "conditions", "deny"); err == nil {
		t.Error("a user whose name is like an excluded one is excluded")
	}
}

// replaceAuthority has the authority replaced while requests go on, none of which may fail.
func replaceAuthority(t *testing.T, client kubernetes.Interface, server *Server, now *clocktesting.FakeClock) {
	t.Helper()
	authority := func() *x509.Certificate {
		bundle := testkit.Must(certificate.ParseBundle(secretData(t, client, "asks")[rotation.AuthorityKey]))(t)
		return bundle[len(bundle)-1] // The newest.
	}
	old := authority()
	var requests atomic.Int32
	stop := background(t, func(ctx context.Context) error {
		for ctx.Err() == nil {
			if err := tryConfigMap(ctx, client, "asked", "allow"); err != nil && ctx.Err() == nil {
				return fmt.Errorf("request %d: %w", requests.Load(), err)
			}
			requests.Add(1)
		}
		return nil
	})
	now.Step(11 * day)
	begin := now.Now()
	eventually(t, func() error {
		// No further than the certificates that are made now begin: the API server has its own clock.
		if now.Since(begin) < rotation.Settling {
			now.Step(rotation.SecretInterval)
		} else {
			now.Step(time.Second)
		}
		if servingIn(t, secretData(t, client, "asks")).CheckSignatureFrom(old) == nil {
			return errors.New("still the certificate of the old authority")
		}
		return nil
	})
	if authority().Equal(old) {
		t.Error("the authority is still the old one")
	}
	at := requests.Load()
	eventually(t, func() error {
		if requests.Load() < at+20 {
			return errors.New("waiting for requests with the new certificate")
		}
		return nil
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	if !server.keeper.Current().Pair.Leaf.Equal(servingIn(t, secretData(t, client, "asks"))) {
		t.Error("the server does not serve what is in the Secret")
	}
}

func secretData(t *testing.T, client kubernetes.Interface, name string) map[string][]byte {
	t.Helper()
	secret := testkit.Must(client.CoreV1().Secrets("default").Get(t.Context(), name, metav1.GetOptions{}))(t)
	return secret.Data
}

// servingIn returns the serving certificate that a Secret has.
func servingIn(t *testing.T, data map[string][]byte) *x509.Certificate {
	t.Helper()
	pair := testkit.Must(certificate.Parse(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]))(t)
	return pair.Certificate
}
