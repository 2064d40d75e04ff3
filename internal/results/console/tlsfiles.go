// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/certificate/rotation"
)

// tlsFiles are the certificate of the console and the authorities of the proxy, in files that somebody else renews.
// It is a [rotation.Source].
type tlsFiles struct {
	certFile, keyFile string
	// proxyCAFile is empty where the proxy needs no certificate.
	proxyCAFile string

	// proxies are the authorities that were read last; nil before and without a file.
	proxies atomic.Pointer[x509.CertPool]
}

// Interval implements [rotation.Source].
func (*tlsFiles) Interval() time.Duration { return rotation.FilesInterval }

// Load implements [rotation.Source].
func (f *tlsFiles) Load(context.Context) (*rotation.Certificates, error) {
	certificatePEM, err := os.ReadFile(f.certFile)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file: %w", err)
	}
	keyPEM, err := os.ReadFile(f.keyFile)
	if err != nil {
		return nil, fmt.Errorf("--tls-private-key-file: %w", err)
	}
	pair, err := tls.X509KeyPair(certificatePEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert-file: %s and %s: %w", f.certFile, f.keyFile, err)
	}
	if f.proxyCAFile != "" {
		if err := f.loadProxies(); err != nil {
			return nil, fmt.Errorf("--proxy-client-ca-file: %w", err)
		}
	}
	return &rotation.Certificates{Pair: &pair, CertificatePEM: certificatePEM, KeyPEM: keyPEM}, nil
}

func (f *tlsFiles) loadProxies() error {
	text, err := os.ReadFile(f.proxyCAFile)
	if err != nil {
		return err
	}
	authorities, err := certificate.ParseBundle(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.proxyCAFile, err)
	}
	pool := x509.NewCertPool()
	for _, authority := range authorities {
		pool.AddCert(authority)
	}
	f.proxies.Store(pool)
	return nil
}

// isProxy returns a function that says why a request is not on a connection of a proxy with one of the names. It
// looks at each request, as connections outlive certificates and authorities.
func (f *tlsFiles) isProxy(names []string) func(*http.Request) error {
	return func(r *http.Request) error {
		if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
			return errors.New("it came without a client certificate")
		}
		options := x509.VerifyOptions{Roots: f.proxies.Load(), Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
		if options.Roots == nil {
			return errors.New("no authority is known") // Without roots, those of the system would count.
		}
		for _, intermediate := range r.TLS.PeerCertificates[1:] {
			options.Intermediates.AddCert(intermediate)
		}
		own := r.TLS.PeerCertificates[0]
		if _, err := own.Verify(options); err != nil {
			return errors.New("its client certificate is not of a known authority, or out of date")
		}
		if !slices.Contains(names, own.Subject.CommonName) {
			return fmt.Errorf("its client certificate is for %q", own.Subject.CommonName)
		}
		return nil
	}
}
