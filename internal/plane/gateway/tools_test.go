// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/util/cert"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// authBoss is somebody who may impersonate.
func authBoss() authenticationv1.UserInfo {
	return authenticationv1.UserInfo{Username: "boss", Groups: []string{"impersonators", "system:authenticated"}}
}

// denyImpersonation allows everything else.
func denyImpersonation(_ authenticationv1.UserInfo, spec authorizationv1.SelfSubjectAccessReviewSpec) bool {
	return spec.ResourceAttributes == nil || len(spec.ResourceAttributes.Verb) < len("impersonate") || spec.ResourceAttributes.Verb[:len("impersonate")] != "impersonate"
}

// cutter passes connections on until they are cut.
type cutter struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	off   bool
	conns map[net.Conn]bool
}

func newCutter(t testing.TB, target string) *cutter {
	t.Helper()
	listener := testkit.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	c := &cutter{listener: listener, target: target, conns: map[net.Conn]bool{}}
	ended := make(chan struct{})
	go func() { defer close(ended); c.run() }()
	t.Cleanup(func() {
		_ = listener.Close()
		c.cut(true)
		<-ended
	})
	return c
}

func (c *cutter) address() string { return c.listener.Addr().String() }

// cut closes all connections, and refuses new ones while off is true.
func (c *cutter) cut(off bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.off = off
	for conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = map[net.Conn]bool{}
}

func (c *cutter) run() {
	for {
		in, err := c.listener.Accept()
		if err != nil {
			return
		}
		out, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", c.target)
		if err != nil || !c.keep(in, out) {
			_ = in.Close()
			continue
		}
		go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
		go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
	}
}

func (c *cutter) keep(in, out net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off {
		_ = out.Close()
		return false
	}
	c.conns[in], c.conns[out] = true, true
	return true
}

// parseAuthority returns an authority without its key.
func parseAuthority(data []byte) (*certificate.Pair, error) {
	parsed, err := cert.ParseCertsPEM(data)
	if err != nil {
		return nil, err
	}
	return &certificate.Pair{CertificatePEM: data, Certificate: parsed[0]}, nil
}
