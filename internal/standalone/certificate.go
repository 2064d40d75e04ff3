// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	caLifetime      = 10 * 365 * 24 * time.Hour
	servingLifetime = 365 * 24 * time.Hour
	// renewBefore the end a certificate is made anew at the next start.
	renewBefore = 30 * 24 * time.Hour
	// backdate covers clocks that differ a little.
	backdate = time.Hour
)

// keyPair is a certificate with its key, as PEM and parsed.
type keyPair struct {
	certificatePEM, keyPEM []byte
	certificate            *x509.Certificate
	key                    crypto.Signer
}

// certificates returns the authority and the serving certificate for hosts, both
// kept from earlier runs as far as they are still good.
func (s *state) certificates(hosts []string, now time.Time) (ca, serving *keyPair, err error) {
	ca, err = s.keep(caCertificateFile, caKeyFile,
		func(have *keyPair) bool { return have.goodFor(now) },
		func() (*keyPair, error) { return newAuthority(now) })
	if err != nil {
		return nil, nil, err
	}
	serving, err = s.keep(servingCertificateFile, servingKeyFile,
		func(have *keyPair) bool {
			return have.goodFor(now) && have.certificate.CheckSignatureFrom(ca.certificate) == nil && have.covers(hosts)
		},
		func() (*keyPair, error) { return newServing(ca, hosts, now) })
	return ca, serving, err
}

// keep returns the stored pair if it is good, else a new one, stored.
func (s *state) keep(certificateName, keyName string, good func(*keyPair) bool, create func() (*keyPair, error)) (*keyPair, error) {
	have, err := s.load(certificateName, keyName)
	if err != nil {
		return nil, err
	}
	if have != nil && good(have) {
		return have, nil
	}
	pair, err := create()
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", certificateName, err)
	}
	// Key first: a crash in between leaves a pair that does not match, and that is
	// made anew.
	if err := writeFile(s.path(keyName), pair.keyPEM); err != nil {
		return nil, err
	}
	return pair, writeFile(s.path(certificateName), pair.certificatePEM)
}

// load returns a stored pair, nil if there is none or its halves do not match.
func (s *state) load(certificateName, keyName string) (*keyPair, error) {
	certificatePEM, err := os.ReadFile(s.path(certificateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // None is an answer.
	}
	if err != nil {
		return nil, err
	}
	keyPEM, err := readSecret(s.path(keyName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // None is an answer.
	}
	if err != nil {
		return nil, err
	}
	pair, err := parsePair(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w; remove both and they are made anew", s.path(certificateName), s.path(keyName), err)
	}
	if public, ok := pair.key.Public().(*ecdsa.PublicKey); !ok || !public.Equal(pair.certificate.PublicKey) {
		return nil, nil // Useless halves are like none.
	}
	return pair, nil
}

func parsePair(certificatePEM, keyPEM []byte) (*keyPair, error) {
	parsed, err := cert.ParseCertsPEM(certificatePEM)
	if err != nil {
		return nil, err
	}
	private, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return nil, err
	}
	key, ok := private.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key can't sign")
	}
	return &keyPair{certificatePEM: certificatePEM, keyPEM: keyPEM, certificate: parsed[0], key: key}, nil
}

func (p *keyPair) goodFor(now time.Time) bool {
	return now.After(p.certificate.NotBefore) && now.Add(renewBefore).Before(p.certificate.NotAfter)
}

func (p *keyPair) covers(hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(host string) bool { return p.certificate.VerifyHostname(host) != nil })
}

func newAuthority(now time.Time) (*keyPair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "docket up"},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(caLifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	return sign(template, nil)
}

func newServing(ca *keyPair, hosts []string, now time.Time) (*keyPair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "docket"},
		NotBefore:   now.Add(-backdate),
		NotAfter:    now.Add(servingLifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return sign(template, ca)
}

// sign makes a key and a certificate for it, signed by issuer, or by itself when
// that is nil.
func sign(template *x509.Certificate, issuer *keyPair) (*keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	parent, signer := template, crypto.Signer(key)
	if issuer != nil {
		parent, signer = issuer.certificate, issuer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	certificatePEM, err := cert.EncodeCertificates(certificate)
	if err != nil {
		return nil, err
	}
	return &keyPair{certificatePEM: certificatePEM, keyPEM: keyPEM, certificate: certificate, key: key}, nil
}
