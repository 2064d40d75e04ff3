// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"slices"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// backdate covers clocks that differ a little.
const backdate = time.Hour

// Pair is a certificate with its private key, as PEM and parsed. It is read-only.
type Pair struct {
	CertificatePEM, KeyPEM []byte
	Certificate            *x509.Certificate
	Key                    crypto.Signer
}

// Parse reads a pair from PEM. That both belong together is for Matches to say.
func Parse(certificatePEM, keyPEM []byte) (*Pair, error) {
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
	return &Pair{CertificatePEM: certificatePEM, KeyPEM: keyPEM, Certificate: parsed[0], Key: key}, nil
}

// Matches reports whether the key belongs to the certificate. It is false for keys
// of other kinds than this package makes.
func (p *Pair) Matches() bool {
	public, ok := p.Key.Public().(*ecdsa.PublicKey)
	return ok && public.Equal(p.Certificate.PublicKey)
}

// GoodFor reports whether the certificate is valid at now and for the time margin
// after it.
func (p *Pair) GoodFor(now time.Time, margin time.Duration) bool {
	return now.After(p.Certificate.NotBefore) && now.Add(margin).Before(p.Certificate.NotAfter)
}

// Covers reports whether the certificate is for each of hosts: names or IP
// addresses.
func (p *Pair) Covers(hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(host string) bool { return p.Certificate.VerifyHostname(host) != nil })
}

// NewAuthority makes an authority that signs itself, valid from now on for the
// given time. name is what people see where the certificate is shown.
func NewAuthority(name string, now time.Time, lifetime time.Duration) (*Pair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: name},
		NotBefore:             now.Add(-backdate),
		NotAfter:              now.Add(lifetime),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	}
	return sign(template, nil)
}

// NewServing makes a certificate with which a server proves that it is each of
// hosts: names or IP addresses. It is signed by authority, and valid from now on for
// the given time.
func NewServing(authority *Pair, hosts []string, now time.Time, lifetime time.Duration) (*Pair, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "docket server"},
		NotBefore:   now.Add(-backdate),
		NotAfter:    now.Add(lifetime),
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
	return sign(template, authority)
}

// NewClient makes a certificate with which a client proves that it is commonName. It is
// signed by authority, and valid from now on for the given time.
func NewClient(authority *Pair, commonName string, now time.Time, lifetime time.Duration) (*Pair, error) {
	return sign(&x509.Certificate{
		Subject:     pkix.Name{CommonName: commonName},
		NotBefore:   now.Add(-backdate),
		NotAfter:    now.Add(lifetime),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority)
}

// sign makes a key and a certificate for it, signed by issuer, or by itself when
// that is nil.
func sign(template *x509.Certificate, issuer *Pair) (*Pair, error) {
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
		parent, signer = issuer.Certificate, issuer.Key
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
	return &Pair{CertificatePEM: certificatePEM, KeyPEM: keyPEM, Certificate: certificate, Key: key}, nil
}
