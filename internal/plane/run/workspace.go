// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docket-project/docket/internal/kit/certificate"
)

// certificateLifetime is longer than a server that is run by hand stays up.
const certificateLifetime = 365 * 24 * time.Hour

// workspace is what a server gets: a folder that only its owner can open, with its
// certificate and key, and a port.
type workspace struct {
	dir, certificate, key string
	port                  int
	ca                    *certificate.Pair
	serverName            string // for which the aggregator expects the certificate
	kubeconfig, proxyCA   string
}

// prepare creates the workspace; remove deletes its folder.
func (o *Options) prepare(ctx context.Context, e *endpoint, now time.Time) (*workspace, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "docket-run-") // Mode 0700.
	if err != nil {
		return nil, fmt.Errorf("create a folder for the server: %w", err)
	}
	p := &workspace{
		dir: dir, certificate: filepath.Join(dir, "serving.crt"), key: filepath.Join(dir, "serving.key"),
		port: port, kubeconfig: e.kubeconfig, proxyCA: filepath.Join(dir, "proxy-ca.crt"),
		serverName: o.Name + "." + o.Namespace + ".svc",
	}
	if err := p.makeCertificate(now); err != nil {
		return nil, errors.Join(fmt.Errorf("create the server's certificate: %w", err), p.remove())
	}
	return p, nil
}

func (p *workspace) remove() error { return os.RemoveAll(p.dir) }

func (p *workspace) makeCertificate(now time.Time) error {
	var err error
	// Its key is not stored, so that nothing else is ever signed with it.
	if p.ca, err = certificate.NewAuthority("docket run", now, certificateLifetime); err != nil {
		return err
	}
	serving, err := certificate.NewServing(p.ca, []string{p.serverName, "localhost", "127.0.0.1"}, now, certificateLifetime)
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(p.certificate, serving.CertificatePEM, 0o600),
		os.WriteFile(p.key, serving.KeyPEM, 0o600),
	)
}

// freePort returns an unused port of 127.0.0.1. Another process may still take it before the server does; the server
// then says so.
func freePort(ctx context.Context) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port for the server: %w", err)
	}
	_, text, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return 0, errors.Join(err, listener.Close())
	}
	port, err := strconv.Atoi(text)
	return port, errors.Join(err, listener.Close())
}

// Placeholders in the command.
const (
	portPlaceholder       = "{port}"
	certPlaceholder       = "{cert}"
	keyPlaceholder        = "{key}"
	kubeconfigPlaceholder = "{kubeconfig}"
	proxyCAPlaceholder    = "{proxy-ca}"
	dirPlaceholder        = "{dir}"
)

// expand returns the command with its placeholders replaced. One without placeholders gets the flags of servers built
// on Kubernetes' RecommendedOptions.
func (p *workspace) expand(command []string) []string {
	values := []string{
		portPlaceholder, strconv.Itoa(p.port), certPlaceholder, p.certificate, keyPlaceholder, p.key,
		kubeconfigPlaceholder, p.kubeconfig, proxyCAPlaceholder, p.proxyCA, dirPlaceholder, p.dir,
	}
	replacer := strings.NewReplacer(values...)
	expanded := slices.Clone(command)
	changed := false
	for i, argument := range command {
		expanded[i] = replacer.Replace(argument)
		changed = changed || expanded[i] != argument
	}
	if !changed {
		expanded = append(expanded,
			"--secure-port="+strconv.Itoa(p.port), "--bind-address=127.0.0.1",
			"--tls-cert-file="+p.certificate, "--tls-private-key-file="+p.key,
			"--kubeconfig="+p.kubeconfig,
			"--authentication-kubeconfig="+p.kubeconfig, "--authorization-kubeconfig="+p.kubeconfig,
		)
	}
	return expanded
}

// wants reports whether the command has a placeholder.
func wants(command []string, placeholder string) bool {
	return slices.ContainsFunc(command, func(argument string) bool { return strings.Contains(argument, placeholder) })
}

// address is the host:port of the server.
func (p *workspace) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port)) }
