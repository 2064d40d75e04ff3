// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/certificate"
	"github.com/docket-project/docket/internal/plane/controlplane"
	"github.com/docket-project/docket/internal/plane/statedir"
)

const (
	// readyTimeout is how long a server may take from listening to ready.
	readyTimeout = time.Minute
	// readyInterval between two looks is short: a person is waiting.
	readyInterval = 10 * time.Millisecond
	// proxyName is what extension servers see of the aggregator.
	proxyName = "docket-front-proxy"
)

// instance is a server that is about to run, with its folder.
type instance struct {
	folder  *statedir.Folder
	server  *controlplane.Server
	url     string
	console *servedConsole // nil for none
}

// Run serves until ctx ends. What the user should read goes to out, progress of
// long work to progress. started is when the process began, for the time that is
// printed.
func (o *Options) Run(ctx context.Context, out, progress io.Writer, c clock.PassiveClock, started time.Time) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	o.server.Storage.Waiting = func(text string) { _, _ = fmt.Fprintln(progress, text) }
	up, err := o.open(ctx, c.Now())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, up.folder.Close()) }()

	greet := func(ctx context.Context) error { return up.greet(ctx, o, out, progress, c, started) }
	servers := []func(context.Context) error{up.server.Run}
	if up.console != nil {
		servers = append(servers, func(ctx context.Context) error { return up.console.Serve(ctx, up.console.listener) })
	}
	if err := statedir.Attend(ctx, greet, servers...); err != nil {
		return err
	}
	place, _ := sqlOf(o.server.Storage.Database)
	_, err = fmt.Fprintln(out, "Docket has stopped. Reports are kept in", place)
	return err
}

// greet waits until the server is ready, prints what to do next and loads the demo.
func (up *instance) greet(ctx context.Context, o *Options, out, progress io.Writer, c clock.PassiveClock, started time.Time) error {
	if err := up.waitUntilReady(ctx); err != nil {
		return err
	}
	took := c.Since(started)
	greeting{
		url: up.url, kubeconfig: up.folder.Path(statedir.KubeconfigFile), database: o.server.Storage.Database,
		took: took, console: up.console.invitation(),
	}.print(out)
	// Building the OpenAPI documents takes three times the memory that serving does: give
	// that back.
	debug.FreeOSMemory()
	if !o.Demo {
		return nil
	}
	return o.loadDemo(ctx, up.server.Loopback, c, progress)
}

// open does all that can fail before anything is served.
func (o *Options) open(ctx context.Context, now time.Time) (_ *instance, err error) {
	held, err := statedir.Open(o.Dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, held.Close())
		}
	}()
	if err := o.serveDemoKinds(held.Path(statedir.DemoKindsFile)); err != nil {
		return nil, fmt.Errorf("--demo: %w", err)
	}
	place, err := statedir.Listen(ctx, o.Listen, o.AllowNonLoopback)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeUnlessClosed(place.Listener))
		}
	}()
	token, err := held.Token()
	if err != nil {
		return nil, err
	}
	ca, serving, err := held.Certificates(place.Hosts, now)
	if err != nil {
		return nil, err
	}
	proxy, err := held.ProxyCertificate(proxyName, now)
	if err != nil {
		return nil, err
	}
	server, err := o.newServer(ctx, place, ca, serving, proxy, token)
	if err != nil {
		return nil, err
	}
	if err := held.WriteKubeconfig(place.URL, ca, token); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	console, err := o.openConsole(ctx, held.Path(statedir.KubeconfigFile))
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return &instance{folder: held, server: server, url: place.URL, console: console}, nil
}

// closeUnlessClosed closes a listener that the server may have closed.
func closeUnlessClosed(listener net.Listener) error {
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func (o *Options) newServer(ctx context.Context, place *statedir.Endpoint, ca, serving *certificate.Pair, proxy *statedir.ProxyCertificate, token string) (*controlplane.Server, error) {
	content, err := dynamiccertificates.NewStaticCertKeyContent("docket up", serving.CertificatePEM, serving.KeyPEM)
	if err != nil {
		return nil, fmt.Errorf("load the serving certificate: %w", err)
	}
	o.server.SecureServing.Listener = place.Listener
	o.server.SecureServing.ServerCert.GeneratedCert = content
	config, err := o.server.Complete().Config(ctx)
	if err != nil {
		return nil, err
	}
	authorizer, err := newAuthorizer()
	if err != nil {
		return nil, err
	}
	requests, tokens := newAuthenticators(token)
	config.Generic.Authentication.Authenticator = requests
	config.Generic.Authorization.Authorizer = authorizer
	config.Generic.RuleResolver = ownerRule{}
	return controlplane.New(ctx, controlplane.Config{
		Reports: config, Tokens: tokens, Rules: ownerRule{}, Proxy: *proxy,
		ClientCA: ca.CertificatePEM, // It signs no client's.
		Address:  strings.TrimPrefix(place.URL, "https://"),
	})
}

// waitUntilReady asks the server as a client would.
func (up *instance) waitUntilReady(ctx context.Context) error {
	client, err := rest.HTTPClientFor(up.server.Loopback)
	if err != nil {
		return fmt.Errorf("wait until the server is ready: %w", err)
	}
	defer client.CloseIdleConnections()
	var last error
	err = wait.PollUntilContextTimeout(ctx, readyInterval, readyTimeout, true, func(ctx context.Context) (bool, error) {
		last = statedir.AskReady(ctx, client, up.server.Loopback.Host)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the server is ready: %w", errors.Join(err, last))
	}
	return nil
}
