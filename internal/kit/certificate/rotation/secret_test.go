// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"bytes"
	"crypto/x509"
	"errors"
	"strings"
	"testing"
	"time"

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

	"github.com/docket-project/docket/internal/kit/testkit"
)

var secretKind = schema.GroupResource{Resource: "secrets"}

// replica returns the source of one replica.
func replica(client kubernetes.Interface, at clock.WithTicker) *Secret {
	return NewSecret(SecretConfig{
		Client: client, Namespace: "default", Name: "tls", Hosts: []string{"hook.default.svc"}, Clock: at,
		Annotation: "docket.dev/test", Owner: "test", Advice: "use another", Authority: "test",
	})
}

func emptySecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "tls", Labels: map[string]string{"mine": "stays"}}}
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
	foreign := emptySecret()
	foreign.Data = map[string][]byte{corev1.TLSCertKey: []byte("x")}
	for name, test := range map[string]struct {
		secret *corev1.Secret
		change func(*fake.Clientset)
		want   string
	}{
		"missing, not creatable": {nil, forbid("create"), "create it empty, as the manifests do"},
		"not writable":           {emptySecret(), forbid("update"), "secret default/tls: secrets \"tls\" is forbidden"},
		"not readable":           {emptySecret(), forbid("get"), "secret default/tls: secrets \"tls\" is forbidden"},
		"somebody else's":        {foreign, func(*fake.Clientset) {}, "use another"},
	} {
		client := fake.NewClientset()
		if test.secret != nil {
			client = fake.NewClientset(test.secret)
		}
		test.change(client)
		if got, err := replica(client, clock.RealClock{}).Load(t.Context()); got != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}

// TestOldCertificateServesWhileItCantBeRenewed: an API server that is away costs nothing until the
// end of the certificate.
func TestOldCertificateServesWhileItCantBeRenewed(t *testing.T) {
	t.Parallel()
	client, now := fake.NewClientset(emptySecret()), clocktesting.NewFakeClock(time.Now())
	source := replica(client, now)
	before := testkit.Must(source.Load(t.Context()))(t)
	client.PrependReactor("update", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("away")
	})
	now.Step(ServingLifetime / 4 * 3)
	during, err := source.Load(t.Context())
	if err == nil || !strings.Contains(err.Error(), "renew the certificate: away") {
		t.Errorf("error %v, want one that says what can't be renewed", err)
	}
	if during == nil || !bytes.Equal(during.Pair.Certificate[0], before.Pair.Certificate[0]) {
		t.Error("the certificate of before is not served")
	}
	now.Step(ServingLifetime)
	if after, err := source.Load(t.Context()); after != nil || err == nil {
		t.Errorf("a certificate that has expired is served; error %v", err)
	}
}

// TestDamagedSecretIsMadeAgain: and nothing that is logged or returned on the way has a key in it.
func TestDamagedSecretIsMadeAgain(t *testing.T) {
	t.Parallel()
	client := fake.NewClientset(emptySecret())
	var logged bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(10), textlogger.Output(&logged))))
	source := replica(client, clock.RealClock{})
	testkit.Must(source.Load(ctx))(t)
	stored := testkit.Must(client.CoreV1().Secrets("default").Get(t.Context(), "tls", metav1.GetOptions{}))(t)
	key := string(stored.Data[AuthoritySecretKey])
	stored.Data[AuthoritySecretKey] = []byte(key[:len(key)/2])
	testkit.Must(client.CoreV1().Secrets("default").Update(t.Context(), stored, metav1.UpdateOptions{}))(t)
	again := testkit.Must(source.Load(ctx))(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(again.Bundle)
	if _, err := again.Pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "hook.default.svc"}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(logged.String(), "damaged") {
		t.Error("nobody is told")
	}
	if lines := strings.Split(key, "\n"); strings.Contains(logged.String(), "PRIVATE") || strings.Contains(logged.String(), lines[1]) {
		t.Error("a key is logged")
	}
}
