// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// DefaultDrain is the default of [Config].
const DefaultDrain = 5 * time.Second

// Config is what a [Server] needs. Required are Handler, and either CertDir or Client, Namespace, and
// Service or Hosts.
type Config struct {
	// Address is host:port to listen at; the host may be empty and the port 0
	// (--webhook-bind-address).
	Address string
	Handler http.Handler

	// CertDir has tls.crt, tls.key and, if the registrar is to write it, ca.crt; they are read
	// again when they change (--webhook-cert-dir). Without it the certificates are in Secret.
	CertDir string

	// ClientCAFile has the authorities of those who may call; without it everybody may
	// (--webhook-client-ca-file). ClientNames are the common names that their certificates may have; any
	// if there are none (--webhook-client-names).
	ClientCAFile string
	ClientNames  []string

	// Client reads and writes the Secret.
	Client kubernetes.Interface
	// Namespace has the Secret and the Service: the namespace of this pod.
	Namespace string
	// Secret has the certificates (--webhook-secret).
	Secret string
	// Service is the name that kube-apiserver calls (--webhook-service).
	Service string
	// Hosts are further names and IP addresses that are called, such as that of --webhook-url.
	Hosts []string
	// Trusted reports whether an authority may begin to sign: whether those who call know it. It
	// is nil if nobody has to be asked; else see [TrustedBy].
	Trusted func(ctx context.Context, authority *x509.Certificate) (bool, error)

	// Drain is how long requests are still served after the end of the process was asked for:
	// kube-apiserver learns of it a little later. It is [DefaultDrain] if 0, none if negative.
	Drain time.Duration
	// Clock is the real one if nil.
	Clock clock.WithTicker
}

func (c *Config) complete() {
	c.Drain = cmp.Or(c.Drain, DefaultDrain)
	c.Clock = cmp.Or[clock.WithTicker](c.Clock, clock.RealClock{})
}

// hosts are the names that kube-apiserver may call.
func (c *Config) hosts() []string {
	if c.Service == "" {
		return c.Hosts
	}
	name := fmt.Sprintf("%s.%s.svc", c.Service, c.Namespace)
	return append([]string{name, name + ".cluster.local"}, c.Hosts...)
}
