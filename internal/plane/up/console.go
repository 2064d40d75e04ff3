// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/store/database"
)

// Console shows results in the browser of the user who runs `docket up`. Package console implements it, but its tests
// need this package, so the command passes it in.
type Console interface {
	// Invite returns a line with the link that signs a browser in at host:port.
	Invite(host string) string
	// Serve answers requests until ctx ends. It closes the listener.
	Serve(ctx context.Context, listener net.Listener) error
}

// servedConsole is a console with the address where it listens.
type servedConsole struct {
	Console

	listener net.Listener
}

// openConsole returns the console, or nil if there is to be none.
func (o *Options) openConsole(ctx context.Context, kubeconfig string) (*servedConsole, error) {
	// The group results.docket.dev, of which the pages are made, needs SQL.
	if o.NewConsole == nil || o.ConsoleListen == "" || database.IsEtcd(o.server.Storage.Database) {
		return nil, nil // Nil means no console.
	}
	endpoint, err := statedir.ListenLoopback(ctx, "--console-listen", o.ConsoleListen)
	if err != nil {
		return nil, err
	}
	console, err := o.NewConsole(kubeconfig, o.server.Storage.ResultMappings, endpoint.Hosts)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the console: %w", err), endpoint.Listener.Close())
	}
	return &servedConsole{Console: console, listener: endpoint.Listener}, nil
}

// invitation is the line with the link; "" if there is no console.
func (p *servedConsole) invitation() string {
	if p == nil {
		return ""
	}
	return p.Invite(p.listener.Addr().String())
}
