// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"context"
	"crypto/tls"
	"time"
)

// Certificates is what a [Source] has. It never changes.
type Certificates struct {
	// Pair is what is served.
	Pair *tls.Certificate
	// CertificatePEM and KeyPEM are the same as text.
	CertificatePEM, KeyPEM []byte
	// Bundle has the authorities that clients are to trust, as PEM; nil if that is up to others.
	Bundle []byte
	// AuthorityEnd is the end of the authority that signs; zero without a bundle.
	AuthorityEnd time.Time
}

// Source is where certificates come from.
type Source interface {
	// Load may return certificates together with an error: these are to be served, and their
	// successors are not available.
	Load(ctx context.Context) (*Certificates, error)
	// Interval is the pause between two loads.
	Interval() time.Duration
}
