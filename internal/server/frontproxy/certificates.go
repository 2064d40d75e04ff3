// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package frontproxy

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/utils/clock"
)

const (
	// trustedFor is how long a verified certificate is remembered. It bounds how long one is still accepted after its
	// authority or an intermediate has expired; its own dates are checked each time.
	trustedFor = time.Minute
	// maxTrusted bounds what is remembered. There is a certificate for each API server.
	maxTrusted = 64
)

// certificates authenticates requests on connections whose client certificate is one of the front proxy's. It
// remembers which ones are: the library verifies a signature for each request, which for a get takes as long as
// reading the report.
type certificates struct {
	options x509request.VerifyOptionFunc
	names   headerrequest.StringSliceProvider
	next    authenticator.Request
	clock   clock.PassiveClock

	mu sync.Mutex
	// trusted says until when; it is for these roots, which change when the configuration does. A connection has the
	// same *x509.Certificate all its life.
	roots   *x509.CertPool
	trusted map[*x509.Certificate]time.Time
}

// AuthenticateRequest implements authenticator.Request.
func (c *certificates) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	options, ok := c.options()
	if !ok {
		return nil, false, nil
	}
	if err := c.verify(r.TLS.PeerCertificates, options); err != nil {
		return nil, false, err
	}
	name, names := r.TLS.PeerCertificates[0].Subject.CommonName, c.names.Value()
	if len(names) > 0 && !slices.Contains(names, name) {
		return nil, false, fmt.Errorf("x509: %q is not a name of the front proxy", name)
	}
	return c.next.AuthenticateRequest(r)
}

// verify returns nil if the first certificate, with the help of the others, was issued by one of the roots.
func (c *certificates) verify(chain []*x509.Certificate, options x509.VerifyOptions) error {
	own, now := chain[0], c.clock.Now()
	if c.isTrusted(own, options.Roots, now) {
		return nil
	}
	if options.Intermediates == nil && len(chain) > 1 {
		options.Intermediates = x509.NewCertPool()
		for _, intermediate := range chain[1:] {
			options.Intermediates.AddCert(intermediate)
		}
	}
	if _, err := own.Verify(options); err != nil {
		return err
	}
	c.trust(own, options.Roots, now)
	return nil
}

func (c *certificates) isTrusted(own *x509.Certificate, roots *x509.CertPool, now time.Time) bool {
	if now.Before(own.NotBefore) || now.After(own.NotAfter) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.roots == roots && now.Before(c.trusted[own])
}

func (c *certificates) trust(own *x509.Certificate, roots *x509.CertPool, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.roots != roots || len(c.trusted) >= maxTrusted {
		c.roots, c.trusted = roots, map[*x509.Certificate]time.Time{}
	}
	c.trusted[own] = now.Add(trustedFor)
}
