// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"
)

// ErrExpired is the cause when every authority of a bundle is past its end.
var ErrExpired = errors.New("is expired")

// Bundle is a set of authorities that are trusted: a PEM file of several
// certificates. While certificates are rotated it holds the old and the new one.
type Bundle []*x509.Certificate

// ParseBundle reads authorities from PEM. Anything but certificates of authorities
// is an error: a private key above all, since bundles are shown to everybody.
func ParseBundle(data []byte) (Bundle, error) {
	var bundle Bundle
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		switch {
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			return nil, errors.New("holds a private key; give the certificates of the authority alone, and keep the key to yourself")
		case block.Type != cert.CertificateBlockType:
			return nil, fmt.Errorf("holds a PEM block of type %q; give certificates only", block.Type)
		}
		parsed, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(bundle)+1, err)
		}
		if !parsed.IsCA {
			return nil, fmt.Errorf("certificate %d, of %q, is not that of an authority; give the one that signed it, often called ca.crt",
				len(bundle)+1, parsed.Subject)
		}
		bundle = append(bundle, parsed)
	}
	if len(bundle) == 0 {
		return nil, errors.New("holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)")
	}
	return bundle, nil
}

// At returns the authorities of b that have not expired at now; expired ones
// can vouch for nothing. If all have expired, the error wraps ErrExpired.
func (b Bundle) At(now time.Time) (Bundle, error) {
	left := slices.DeleteFunc(slices.Clone(b), func(c *x509.Certificate) bool { return !now.Before(c.NotAfter) })
	if len(left) > 0 || len(b) == 0 {
		return left, nil
	}
	last := slices.MaxFunc(b, func(a, c *x509.Certificate) int { return a.NotAfter.Compare(c.NotAfter) })
	return nil, fmt.Errorf("the certificate of %q %w since %s; make a new one", last.Subject, ErrExpired, last.NotAfter.UTC().Format(time.DateOnly))
}

// With returns b with one more authority at its end.
func (b Bundle) With(authority *x509.Certificate) Bundle {
	return append(slices.Clone(b), authority)
}

// Holds reports whether a bundle, as PEM, has an authority. One that can't be read has none.
func Holds(bundle []byte, authority *x509.Certificate) bool {
	parsed, err := ParseBundle(bundle)
	return err == nil && slices.ContainsFunc(parsed, authority.Equal)
}

// PEM returns the bundle as PEM, without comments.
func (b Bundle) PEM() ([]byte, error) {
	return cert.EncodeCertificates(b...)
}
