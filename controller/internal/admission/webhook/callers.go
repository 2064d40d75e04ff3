// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/certificate/rotation"
)

// callers decides who may connect: those with a certificate of an authority of the file. Make them
// with newCallers; nil lets everybody in.
type callers struct {
	file  string
	names []string
	clock clock.WithTicker
	// authorities are replaced when the file changes.
	authorities atomic.Pointer[x509.CertPool]
}

func newCallers(config *Config) (*callers, error) {
	if config.ClientCAFile == "" {
		return nil, nil // Everybody.
	}
	c := &callers{file: config.ClientCAFile, names: config.ClientNames, clock: config.Clock}
	return c, c.load()
}

func (c *callers) load() error {
	data, err := os.ReadFile(c.file)
	if err != nil {
		return fmt.Errorf("--webhook-client-ca-file: %w", err)
	}
	bundle, err := certificate.ParseBundle(data)
	if err != nil {
		return fmt.Errorf("--webhook-client-ca-file: %s: %w", c.file, err)
	}
	pool := x509.NewCertPool()
	for _, authority := range bundle {
		pool.AddCert(authority)
	}
	c.authorities.Store(pool)
	return nil
}

// run follows the file until ctx is done. While it is missing or wrong, what it said before counts.
func (c *callers) run(ctx context.Context) {
	if c == nil {
		return
	}
	ticker := c.clock.NewTicker(rotation.FilesInterval)
	defer ticker.Stop()
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
		text := ""
		if err := c.load(); err != nil {
			text = err.Error()
		}
		if text != "" && text != last {
			klog.FromContext(ctx).Error(nil, "The authorities of callers can't be read, those of before count", "cause", text)
		}
		last = text
	}
}

// restrict has a server ask for certificates. Sessions are not resumed: each connection is checked.
func (c *callers) restrict(config *tls.Config) {
	if c == nil {
		return
	}
	config.ClientAuth, config.SessionTicketsDisabled = tls.RequireAndVerifyClientCert, true
	config.VerifyConnection = c.verify
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := config.Clone()
		now.GetConfigForClient, now.ClientCAs = nil, c.authorities.Load()
		return now, nil
	}
}

// verify looks at the name of a certificate that is good.
func (c *callers) verify(state tls.ConnectionState) error {
	if len(state.VerifiedChains) == 0 {
		return errors.New("the caller has no certificate") // The server has refused it already.
	}
	name := state.PeerCertificates[0].Subject.CommonName
	if len(c.names) > 0 && !slices.Contains(c.names, name) {
		return fmt.Errorf("--webhook-client-names: the caller's certificate has the common name %q, and may not call", name)
	}
	return nil
}
