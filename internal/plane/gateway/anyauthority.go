// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"crypto/x509"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// anyAuthority asks clients for a certificate without naming authorities, so that they
// show what they have. It vouches for none.
type anyAuthority struct{}

var _ dynamiccertificates.CAContentProvider = anyAuthority{}

// Name implements dynamiccertificates.CAContentProvider.
func (anyAuthority) Name() string { return "any authority" }

// AddListener implements dynamiccertificates.CAContentProvider. There are no changes.
func (anyAuthority) AddListener(dynamiccertificates.Listener) {}

// CurrentCABundleContent implements dynamiccertificates.CAContentProvider.
func (anyAuthority) CurrentCABundleContent() []byte { return nil }

// VerifyOptions implements dynamiccertificates.CAContentProvider.
func (anyAuthority) VerifyOptions() (x509.VerifyOptions, bool) { return x509.VerifyOptions{}, false }
