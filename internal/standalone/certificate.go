// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/docket-project/docket/internal/atomicfile"
	"github.com/docket-project/docket/internal/certificate"
)

const (
	caLifetime      = 10 * 365 * 24 * time.Hour
	servingLifetime = 365 * 24 * time.Hour
	// renewBefore the end a certificate is made anew at the next start.
	renewBefore = 30 * 24 * time.Hour
)

// certificates returns the authority and the serving certificate for hosts, both
// kept from earlier runs as far as they are still good.
func (s *state) certificates(hosts []string, now time.Time) (ca, serving *certificate.Pair, err error) {
	ca, err = s.keep(caCertificateFile, caKeyFile,
		func(have *certificate.Pair) bool { return have.GoodFor(now, renewBefore) },
		func() (*certificate.Pair, error) { return certificate.NewAuthority("docket up", now, caLifetime) })
	if err != nil {
		return nil, nil, err
	}
	serving, err = s.keep(servingCertificateFile, servingKeyFile,
		func(have *certificate.Pair) bool {
			return have.GoodFor(now, renewBefore) && have.Certificate.CheckSignatureFrom(ca.Certificate) == nil && have.Covers(hosts)
		},
		func() (*certificate.Pair, error) { return certificate.NewServing(ca, hosts, now, servingLifetime) })
	return ca, serving, err
}

// keep returns the stored pair if it is good, else a new one, stored.
func (s *state) keep(certificateName, keyName string, good func(*certificate.Pair) bool, create func() (*certificate.Pair, error)) (*certificate.Pair, error) {
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
	if err := atomicfile.Write(s.path(keyName), pair.KeyPEM); err != nil {
		return nil, err
	}
	return pair, atomicfile.Write(s.path(certificateName), pair.CertificatePEM)
}

// load returns a stored pair, nil if there is none or its halves do not match.
func (s *state) load(certificateName, keyName string) (*certificate.Pair, error) {
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
	pair, err := certificate.Parse(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w; remove both and they are made anew", s.path(certificateName), s.path(keyName), err)
	}
	if !pair.Matches() {
		return nil, nil // Useless halves are like none.
	}
	return pair, nil
}
