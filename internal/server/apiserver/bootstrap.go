// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"fmt"

	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/server/bootstrap"
	"github.com/docket-project/docket/internal/server/bootstrap/handler"
)

// validateBootstrap looks whether the file can be used. That its authorities are past
// their end is no reason not to serve reports.
func (o *Options) validateBootstrap() []error {
	if o.BootstrapCAFile == "" {
		return nil
	}
	_, err := bootstrap.ReadCABundle(o.BootstrapCAFile, clock.RealClock{}.Now())
	if err != nil && !errors.Is(err, certificate.ErrExpired) {
		return []error{fmt.Errorf("--%s: %w", handler.CAFlag, err)}
	}
	return nil
}

// bootstrapParameters are the defaults of /bootstrap, with what is served now.
func (c *Config) bootstrapParameters() bootstrap.Parameters {
	p := bootstrap.NewParameters()
	p.Groups = nil
	for _, s := range c.served() {
		p.Groups = append(p.Groups, s.Group)
	}
	p.Add(c.kinds())
	return p
}

// bootstrapBundle returns what /bootstrap asks for the authorities of the serving certificate: those of
// the file or, if there is none, those of the certificate that the server makes itself.
func (c CompletedConfig) bootstrapBundle() func() ([]byte, error) {
	if c.BootstrapCAFile == "" && c.Certificate != nil {
		return func() ([]byte, error) { return c.Certificate.keeper.Bundle(), nil }
	}
	return handler.BundleOf(c.BootstrapCAFile, clock.RealClock{})
}
