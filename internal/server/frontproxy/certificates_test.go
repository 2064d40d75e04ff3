// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package frontproxy

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"testing"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/authentication/user"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// asker asks certificates about one of them, with options that a test changes.
type asker struct {
	certificates *certificates
	clock        *clocktesting.FakePassiveClock
	options      x509.VerifyOptions
}

func newAsker(roots *x509.CertPool) *asker {
	a := &asker{clock: clocktesting.NewFakePassiveClock(time.Now())}
	a.options = x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	a.certificates = &certificates{
		options: func() (x509.VerifyOptions, bool) {
			options := a.options
			options.CurrentTime = a.clock.Now()
			return options, true
		},
		names: headerrequest.StaticStringSlice{"front-proxy-client"},
		next: authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
			return &authenticator.Response{User: &user.DefaultInfo{}}, true, nil
		}),
		clock: a.clock,
	}
	return a
}

func (a *asker) passes(chain ...*x509.Certificate) bool {
	_, ok, err := a.certificates.AuthenticateRequest(&http.Request{TLS: &tls.ConnectionState{PeerCertificates: chain}})
	return ok && err == nil
}

func newAuthority(t testing.TB, life time.Duration) *certificate.Pair {
	t.Helper()
	return testkit.Must(certificate.NewAuthority("authority", time.Now(), life))(t)
}

func newClient(t testing.TB, issuer *certificate.Pair, life time.Duration) *x509.Certificate {
	t.Helper()
	pair := testkit.Must(certificate.NewClient(issuer, "front-proxy-client", time.Now(), life))(t)
	return pair.Certificate
}

func poolOf(authorities ...*certificate.Pair) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, a := range authorities {
		pool.AddCert(a.Certificate)
	}
	return pool
}

// TestTrustEnds: a verified certificate is not verified again for a minute, unless the roots change or it expires.
func TestTrustEnds(t *testing.T) {
	t.Parallel()
	const long = 24 * time.Hour
	front, other := newAuthority(t, long), newAuthority(t, long)
	for name, test := range map[string]struct {
		life   time.Duration
		change func(*asker)
		passes bool
	}{
		"remembered": {long, func(a *asker) { a.options.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }, true},
		"verified again": {long, func(a *asker) {
			a.options.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
			a.clock.SetTime(a.clock.Now().Add(trustedFor))
		}, false},
		"still good":  {long, func(a *asker) { a.clock.SetTime(a.clock.Now().Add(trustedFor)) }, true},
		"other roots": {long, func(a *asker) { a.options.Roots = poolOf(other) }, false},
		"more roots":  {long, func(a *asker) { a.options.Roots = poolOf(front, other) }, true},
		"no roots":    {long, func(a *asker) { a.options.Roots = x509.NewCertPool() }, false},
		"expired":     {time.Second, func(a *asker) { a.clock.SetTime(a.clock.Now().Add(2 * time.Second)) }, false},
		"other names": {long, func(a *asker) { a.certificates.names = headerrequest.StaticStringSlice{"somebody"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, own := newAsker(poolOf(front)), newClient(t, front, test.life)
			if !a.passes(own) {
				t.Fatal("a certificate of the front proxy is refused")
			}
			if a.passes(newClient(t, other, long)) {
				t.Error("somebody else's passes after it")
			}
			test.change(a)
			if got := a.passes(own); got != test.passes {
				t.Errorf("passes: %v", got)
			}
		})
	}
}

// TestTrustIsBounded: no number of connections makes it remember more.
func TestTrustIsBounded(t *testing.T) {
	t.Parallel()
	front := newAuthority(t, time.Hour)
	a, own := newAsker(poolOf(front)), newClient(t, front, time.Hour)
	for range 3 * maxTrusted {
		connection := *own
		if !a.passes(&connection) {
			t.Fatal("refused")
		}
	}
	if n := len(a.certificates.trusted); n > maxTrusted {
		t.Errorf("%d are remembered", n)
	}
}
