// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"

	"github.com/docket-project/docket/internal/kit/certificate"
)

// What a Secret has, beside tls.crt and tls.key: the authorities to trust, as cert-manager calls
// them, and the key of the one that signs.
const (
	// AuthorityKey is the name of the bundle.
	AuthorityKey = "ca.crt"
	// AuthoritySecretKey is the name of the key.
	AuthoritySecretKey = "ca.key"
)

const (
	// AuthorityLifetime is that of new certificate authorities.
	AuthorityLifetime = 10 * 365 * 24 * time.Hour
	// ServingLifetime is that of new serving certificates.
	ServingLifetime = 365 * 24 * time.Hour
	// Settling is how old an authority has to be before it signs: a bundle that has just been
	// written has reached every kube-apiserver by then.
	Settling = 10 * time.Minute
	// Overlap is how long an authority stays trusted after its last certificate was replaced:
	// replicas that could not read the Secret for a while still serve that.
	Overlap = 24 * time.Hour
	// backdate is by how much package certificate lets its certificates begin before they were made.
	backdate = time.Hour
	// maxHosts bounds the names that a certificate takes over from the one before.
	maxHosts = 16
)

// material is what the Secret has. It never changes.
type material struct {
	bundle certificate.Bundle
	// signer is the authority whose key is known: the newest.
	signer *certificate.Pair
	// serving is a pair that matches, and nil if there is none.
	serving *certificate.Pair
}

// parse reads a Secret. Halves of pairs that don't belong together are an error, as is all that
// can't be read.
func parse(data map[string][]byte) (*material, error) {
	bundle, err := certificate.ParseBundle(data[AuthorityKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", AuthorityKey, err)
	}
	found := &material{bundle: bundle}
	for _, authority := range bundle {
		text, err := cert.EncodeCertificates(authority)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", AuthorityKey, err)
		}
		pair, err := certificate.Parse(text, data[AuthoritySecretKey])
		if err != nil {
			// What can't be parsed isn't shown: it is a key.
			return nil, fmt.Errorf("%s: holds no key", AuthoritySecretKey)
		}
		if pair.Matches() {
			found.signer = pair
		}
	}
	if found.signer == nil {
		return nil, fmt.Errorf("%s: is the key of no certificate in %s", AuthoritySecretKey, AuthorityKey)
	}
	found.serving, err = certificate.Parse(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	if err != nil || !found.serving.Matches() {
		return nil, fmt.Errorf("%s and %s: are no pair", corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	}
	return found, nil
}

// data is what parse reads.
func (m *material) data() (map[string][]byte, error) {
	bundle, err := m.bundle.PEM()
	if err != nil {
		return nil, fmt.Errorf("write the authorities: %w", err)
	}
	return map[string][]byte{
		corev1.TLSCertKey: m.serving.CertificatePEM, corev1.TLSPrivateKeyKey: m.serving.KeyPEM,
		AuthorityKey: bundle, AuthoritySecretKey: m.signer.KeyPEM,
	}, nil
}

// usable reports whether those who trust the bundle accept the certificate now.
func (m *material) usable(now time.Time) bool {
	return m.serving.GoodFor(now, 0) && slices.ContainsFunc(m.bundle, func(authority *x509.Certificate) bool {
		return now.Before(authority.NotAfter) && signed(m.serving, authority)
	})
}

func signed(pair *certificate.Pair, authority *x509.Certificate) bool {
	return pair.Certificate.CheckSignatureFrom(authority) == nil
}

// due reports whether two thirds of a certificate's time have passed.
func due(c *x509.Certificate, now time.Time) bool {
	return now.After(c.NotBefore.Add(c.NotAfter.Sub(c.NotBefore) / 3 * 2))
}

// older reports whether a certificate was made at least that long ago.
func older(c *x509.Certificate, age time.Duration, now time.Time) bool {
	return now.Sub(c.NotBefore) >= backdate+age
}

// renewal decides what of the material has to be replaced.
type renewal struct {
	// authority is the name of new authorities.
	authority string
	hosts     []string
	now       time.Time
	// trusted reports whether an authority may begin to sign.
	trusted func(*x509.Certificate) (bool, error)
}

// next returns what follows have, which may be nil, and what is new about it; nothing if it is the
// same. An error says why something that is due can't be done yet; what is returned is good
// nevertheless.
func (r renewal) next(have *material) (*material, string, error) {
	if have == nil {
		have = &material{}
	}
	next := *have
	bundle, err := next.bundle.At(r.now)
	if err != nil && !errors.Is(err, certificate.ErrExpired) {
		return nil, "", err
	}
	next.bundle = bundle
	news := ""
	if next.signer == nil || !next.signer.GoodFor(r.now, 0) || due(next.signer.Certificate, r.now) {
		name := r.authority + " " + r.now.UTC().Format(time.RFC3339)
		if next.signer, err = certificate.NewAuthority(name, r.now, AuthorityLifetime); err != nil {
			return nil, "", fmt.Errorf("make an authority: %w", err)
		}
		next.bundle = next.bundle.With(next.signer.Certificate)
		news = "authority"
	}
	sign, waiting := r.signs(&next)
	switch {
	case sign:
		if next.serving, err = certificate.NewServing(next.signer, r.names(have.serving), r.now, ServingLifetime); err != nil {
			return nil, "", fmt.Errorf("make a serving certificate: %w", err)
		}
		news = "certificate"
	case signed(next.serving, next.signer.Certificate) && older(next.serving.Certificate, Overlap, r.now):
		next.bundle = certificate.Bundle{next.signer.Certificate}
	}
	if news == "" && len(next.bundle) != len(have.bundle) {
		news = "bundle"
	}
	return &next, news, waiting
}

// signs reports whether a new serving certificate is to be made now. One that serves waits until the
// new authority is trusted.
func (r renewal) signs(m *material) (bool, error) {
	if m.serving == nil || !m.usable(r.now) || !m.serving.Covers(r.hosts) {
		return true, nil
	}
	if signed(m.serving, m.signer.Certificate) {
		return due(m.serving.Certificate, r.now), nil
	}
	if !older(m.signer.Certificate, Settling, r.now) {
		return false, nil
	}
	return r.trusted(m.signer.Certificate)
}

// names are the hosts and, if the earlier certificate is replaced because it lacks one, also its
// names: otherwise, during an upgrade that renames something, replicas would replace each other's certificate forever.
func (r renewal) names(before *certificate.Pair) []string {
	names := slices.Clone(r.hosts)
	if before == nil || before.Covers(r.hosts) {
		return names
	}
	had := slices.Clone(before.Certificate.DNSNames)
	for _, ip := range before.Certificate.IPAddresses {
		had = append(had, ip.String())
	}
	for _, name := range had {
		same := func(other string) bool {
			ip := net.ParseIP(other)
			return other == name || ip != nil && ip.Equal(net.ParseIP(name))
		}
		if len(names) < maxHosts && !slices.ContainsFunc(names, same) {
			names = append(names, name)
		}
	}
	return names
}
