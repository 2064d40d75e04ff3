// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/docket-project/docket/internal/kit/atomicfile"
	"github.com/docket-project/docket/internal/kit/certificate"
)

const (
	caLifetime      = 10 * 365 * 24 * time.Hour
	servingLifetime = 365 * 24 * time.Hour
	// renewBefore is how long before its end a certificate is replaced at the next start.
	renewBefore = 30 * 24 * time.Hour
)

// Certificates returns the authority and the serving certificate for hosts, from earlier
// runs if they are still valid.
func (f *Folder) Certificates(hosts []string, now time.Time) (ca, serving *certificate.Pair, err error) {
	ca, err = f.keep(caCertificateFile, caKeyFile,
		func(have *certificate.Pair) bool { return have.GoodFor(now, renewBefore) },
		func() (*certificate.Pair, error) { return certificate.NewAuthority("docket", now, caLifetime) })
	if err != nil {
		return nil, nil, err
	}
	serving, err = f.keep(servingCertificateFile, servingKeyFile,
		func(have *certificate.Pair) bool {
			return have.GoodFor(now, renewBefore) && have.Certificate.CheckSignatureFrom(ca.Certificate) == nil && have.Covers(hosts)
		},
		func() (*certificate.Pair, error) { return certificate.NewServing(ca, hosts, now, servingLifetime) })
	return ca, serving, err
}

// ProxyCertificate is what identifies an aggregator to the servers behind it.
type ProxyCertificate struct {
	CertFile, KeyFile string
	// CA is the authority of the certificate.
	CA *certificate.Pair
	// CommonName is the subject of the certificate.
	CommonName string
}

// ProxyCertificate returns the client certificate of an aggregator, with an authority
// that signs nothing else: the holder of such a certificate can act as anyone towards the
// servers that trust it.
func (f *Folder) ProxyCertificate(commonName string, now time.Time) (*ProxyCertificate, error) {
	ca, err := f.keep(ProxyCAFile, proxyCAKeyFile,
		func(have *certificate.Pair) bool { return have.GoodFor(now, renewBefore) },
		func() (*certificate.Pair, error) {
			return certificate.NewAuthority("docket front proxy", now, caLifetime)
		})
	if err != nil {
		return nil, err
	}
	_, err = f.keep(ProxyCertificateFile, ProxyKeyFile,
		func(have *certificate.Pair) bool {
			return have.GoodFor(now, renewBefore) && have.Certificate.CheckSignatureFrom(ca.Certificate) == nil &&
				have.Certificate.Subject.CommonName == commonName
		},
		func() (*certificate.Pair, error) { return certificate.NewClient(ca, commonName, now, servingLifetime) })
	if err != nil {
		return nil, err
	}
	return &ProxyCertificate{
		CertFile: f.Path(ProxyCertificateFile), KeyFile: f.Path(ProxyKeyFile), CA: ca, CommonName: commonName,
	}, nil
}

// keep returns the stored pair if it is good, else a new one, stored.
func (f *Folder) keep(certificateName, keyName string, good func(*certificate.Pair) bool, create func() (*certificate.Pair, error)) (*certificate.Pair, error) {
	have, err := f.load(certificateName, keyName)
	if err != nil {
		return nil, err
	}
	if have != nil && good(have) {
		return have, nil
	}
	pair, err := create()
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", certificateName, err)
	}
	// Key first: a crash in between leaves a pair that does not match, and that is
	// replaced.
	if err := atomicfile.Write(f.Path(keyName), pair.KeyPEM); err != nil {
		return nil, err
	}
	return pair, atomicfile.Write(f.Path(certificateName), pair.CertificatePEM)
}

// load returns a stored pair, nil if there is none or its halves do not match.
func (f *Folder) load(certificateName, keyName string) (*certificate.Pair, error) {
	certificatePEM, err := os.ReadFile(f.Path(certificateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // There is none, which is not an error.
	}
	if err != nil {
		return nil, err
	}
	keyPEM, err := readSecret(f.Path(keyName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // There is none, which is not an error.
	}
	if err != nil {
		return nil, err
	}
	pair, err := certificate.Parse(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w; remove both, and new ones are created", f.Path(certificateName), f.Path(keyName), err)
	}
	if !pair.Matches() {
		return nil, nil // Halves that don't match count as none.
	}
	return pair, nil
}
