// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"crypto/x509"
	"errors"
	"maps"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
	name = "docket-controller.docket-system.svc"
)

func start() time.Time { return time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC) }

func yes(*x509.Certificate) (bool, error) { return true, nil }

// renew returns what follows have, which must be what news says.
func renew(t *testing.T, r renewal, have *material, news string) *material {
	t.Helper()
	if r.hosts == nil {
		r.hosts = []string{name}
	}
	if r.trusted == nil {
		r.trusted = yes
	}
	next, got, err := r.next(have)
	if err != nil || got != news {
		t.Fatalf("at %s: news %q and error %v, want %q", r.now, got, err, news)
	}
	return next
}

// accepted reports whether a caller that trusts bundle accepts the certificate.
func accepted(bundle certificate.Bundle, m *material, now time.Time) error {
	roots := x509.NewCertPool()
	for _, authority := range bundle {
		roots.AddCert(authority)
	}
	_, err := m.serving.Certificate.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now})
	return err
}

func TestCertificatesBeginBeforeTheyWereMade(t *testing.T) {
	t.Parallel()
	authority := testkit.Must(certificate.NewAuthority("a", start(), year))(t)
	if got := start().Sub(authority.Certificate.NotBefore); got != backdate {
		t.Errorf("by %s, and %s is reckoned with", got, backdate)
	}
}

func TestFirstCertificateIsAccepted(t *testing.T) {
	t.Parallel()
	m := renew(t, renewal{now: start()}, nil, "certificate")
	if err := accepted(m.bundle, m, start()); err != nil {
		t.Error(err)
	}
	renew(t, renewal{now: start().Add(day)}, m, "")
}

func TestServingCertificateIsRenewedAtTwoThirds(t *testing.T) {
	t.Parallel()
	m := renew(t, renewal{now: start()}, nil, "certificate")
	at := start().Add(ServingLifetime / 3 * 2)
	renew(t, renewal{now: at.Add(-day)}, m, "")
	next := renew(t, renewal{now: at.Add(day)}, m, "certificate")
	if len(next.bundle) != 1 || !next.bundle[0].Equal(m.bundle[0]) {
		t.Error("the authority changed, too")
	}
	if !next.serving.GoodFor(at.Add(day), ServingLifetime-time.Hour) {
		t.Error("the new one is not for a full lifetime")
	}
}

// TestAuthorityIsTrustedBeforeItSigns walks through the change of an authority.
func TestAuthorityIsTrustedBeforeItSigns(t *testing.T) {
	t.Parallel()
	m := renew(t, renewal{now: start()}, nil, "certificate")
	now := start().Add(AuthorityLifetime/3*2 - 30*day)
	m = renew(t, renewal{now: now}, m, "certificate")
	old := m.bundle

	now = now.Add(31 * day)
	m = renew(t, renewal{now: now}, m, "authority")
	if len(m.bundle) != 2 || accepted(old, m, now) != nil {
		t.Fatalf("%d authorities, want the old and the new one, and the old one's certificate served", len(m.bundle))
	}
	renew(t, renewal{now: now.Add(Settling - time.Second)}, m, "")
	now = now.Add(Settling)
	renew(t, renewal{now: now, trusted: func(*x509.Certificate) (bool, error) { return false, nil }}, m, "")
	problem := errors.New("no answer")
	same, news, err := renewal{hosts: []string{name}, now: now, trusted: func(*x509.Certificate) (bool, error) { return false, problem }}.next(m)
	if !errors.Is(err, problem) || news != "" || same.serving != m.serving {
		t.Errorf("nobody can be asked: news %q, error %v", news, err)
	}

	both := m.bundle
	m = renew(t, renewal{now: now, trusted: func(asked *x509.Certificate) (bool, error) { return asked.Equal(m.signer.Certificate), nil }}, m, "certificate")
	if accepted(old, m, now) == nil || accepted(both, m, now) != nil || len(m.bundle) != 2 {
		t.Error("the certificate is not of the new authority, or the old one is not trusted any more")
	}
	renew(t, renewal{now: now.Add(Overlap - time.Minute)}, m, "")
	m = renew(t, renewal{now: now.Add(Overlap)}, m, "bundle")
	if len(m.bundle) != 1 || accepted(m.bundle, m, now) != nil {
		t.Error("the old authority is still trusted, or the new one is not")
	}
}

// TestNobodyIsEverRefused lives through thirty years in which each party learns of changes one
// look later than the other.
func TestNobodyIsEverRefused(t *testing.T) {
	t.Parallel()
	replica := renew(t, renewal{now: start()}, nil, "certificate")
	caller, authorities := replica.bundle, map[string]bool{}
	for now := start(); now.Before(start().Add(30 * year)); {
		trusted := func(authority *x509.Certificate) (bool, error) {
			return slices.ContainsFunc(caller, authority.Equal), nil
		}
		stored, _ := testkit.Must2(renewal{hosts: []string{name}, now: now, trusted: trusted}.next(replica))(t)
		for whose, serves := range map[string]*material{"that has renewed": stored, "that is late": replica} {
			for which, bundle := range map[string]certificate.Bundle{"old": caller, "new": stored.bundle} {
				if err := accepted(bundle, serves, now); err != nil {
					t.Fatalf("%s: a replica %s is refused with the %s bundle: %v", now, whose, which, err)
				}
			}
		}
		replica, caller = stored, stored.bundle
		if len(caller) > 1 {
			now = now.Add(3 * time.Hour)
		} else {
			now = now.Add(14 * day)
		}
		authorities[stored.signer.Certificate.SerialNumber.String()] = true
	}
	if len(authorities) < 4 || len(caller) > 2 {
		t.Errorf("%d authorities in thirty years, %d of them trusted at the end", len(authorities), len(caller))
	}
}

func TestExpiredMaterialIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	m := renew(t, renewal{now: start()}, nil, "certificate")
	for what, after := range map[string]time.Duration{"certificate": ServingLifetime + day, "authority": AuthorityLifetime + day} {
		never := func(*x509.Certificate) (bool, error) { return false, nil }
		next := renew(t, renewal{now: start().Add(after), trusted: never}, m, "certificate")
		if err := accepted(next.bundle, next, start().Add(after)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestReplicasWithOtherNamesDontFight: during an upgrade that renames the Service, both names stay
// in the certificate, no matter which replica renews it.
func TestReplicasWithOtherNamesDontFight(t *testing.T) {
	t.Parallel()
	ours, theirs := []string{name, "127.0.0.1"}, []string{"other.docket-system.svc", "127.0.0.1", "::1"}
	m := renew(t, renewal{now: start(), hosts: ours}, nil, "certificate")
	m = renew(t, renewal{now: start(), hosts: theirs}, m, "certificate")
	renew(t, renewal{now: start(), hosts: ours}, m, "")
	renew(t, renewal{now: start(), hosts: theirs}, m, "")
	if got := m.serving.Certificate.IPAddresses; len(got) != 2 || !got[0].Equal(net.IPv4(127, 0, 0, 1)) {
		t.Errorf("addresses %v, want each once", got)
	}
	m = renew(t, renewal{now: start().Add(ServingLifetime / 4 * 3), hosts: ours}, m, "certificate")
	if m.serving.Covers(theirs) {
		t.Error("a name that nobody has any more is kept for ever")
	}
}

func TestSecretIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	m := renew(t, renewal{now: start()}, nil, "certificate")
	other := renew(t, renewal{now: start()}, nil, "certificate")
	data := testkit.Must(m.data())(t)
	again := testkit.Must(parse(data))(t)
	renew(t, renewal{now: start()}, again, "")
	for damage, change := range map[string]func(map[string][]byte){
		"no key of the authority":      func(d map[string][]byte) { delete(d, AuthoritySecretKey) },
		"key of another authority":     func(d map[string][]byte) { d[AuthoritySecretKey] = other.signer.KeyPEM },
		"no authority":                 func(d map[string][]byte) { d[AuthorityKey] = nil },
		"key among the authorities":    func(d map[string][]byte) { d[AuthorityKey] = slices.Concat(d[AuthorityKey], m.signer.KeyPEM) },
		"key of another certificate":   func(d map[string][]byte) { d[corev1.TLSPrivateKeyKey] = other.serving.KeyPEM },
		"certificate is no PEM":        func(d map[string][]byte) { d[corev1.TLSCertKey] = []byte("x") },
		"certificate and key are gone": func(d map[string][]byte) { delete(d, corev1.TLSCertKey); delete(d, corev1.TLSPrivateKeyKey) },
	} {
		damaged := maps.Clone(data)
		change(damaged)
		_, err := parse(damaged)
		if err == nil {
			t.Errorf("%s: is no error", damage)
		} else if strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: the error shows a key: %v", damage, err)
		}
	}
}
