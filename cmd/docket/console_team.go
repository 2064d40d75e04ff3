// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/cli"
	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/results/console"
)

// addTeamFlags adds those of a console behind a proxy that signs people in.
func (f *consoleFlags) addTeamFlags(flags *pflag.FlagSet) {
	o := &f.signIn
	flags.StringVar(&o.SignIn, "sign-in", o.SignIn, "How people sign in: link (one browser, with your kubeconfig), token (a proxy sends each person's "+
		"bearer token, which the cluster accepts) or headers (a proxy names people, and the console impersonates them).")
	flags.StringSliceVar(&o.Hosts, "host", nil, "Hosts by which browsers reach the proxy, with a port if it is not 443.")
	flags.StringVar(&o.TLSCertFile, "tls-cert-file", "", "Certificate for HTTPS, with --tls-private-key-file. Both are read again when they change.")
	flags.StringVar(&o.TLSPrivateKeyFile, "tls-private-key-file", "", "Private key of --tls-cert-file.")
	flags.StringSliceVar(&o.UserHeaders, "user-headers", o.UserHeaders, "With headers: where the proxy says who somebody is. The first header that is there counts.")
	flags.StringSliceVar(&o.GroupHeaders, "group-headers", o.GroupHeaders, "With headers: headers with groups, separated by commas, such as X-Forwarded-Groups. Name only headers that the proxy itself sets or removes.")
	flags.StringVar(&o.ProxyClientCAFile, "proxy-client-ca-file", "",
		"With headers: authorities of the proxy's client certificate. Without it, the console listens on loopback only.")
	flags.StringSliceVar(&o.ProxyClientNames, "proxy-client-names", nil, "With headers: common names that the proxy's client certificate may have.")
}

// runTeam serves many browsers.
func (f *consoleFlags) runTeam(ctx context.Context, config *rest.Config, info console.Info) error {
	if f.open {
		return cli.Usage(errors.New("--open: there is no link to open; people open the address of the proxy"))
	}
	// Neither the address of the cluster nor the way to it are for others.
	info = console.Info{Context: info.Context, Kubectl: []string{"kubectl"}, Kinds: info.Kinds}
	place, err := statedir.Listen(ctx, f.listen, true)
	if err != nil {
		return cli.Usage(err)
	}
	address := place.Listener.Addr()
	if err := f.signIn.CheckAddress(address); err != nil {
		return cli.Usage(errors.Join(err, place.Listener.Close()))
	}
	server, err := console.NewTeam(ctx, config, info, place.Hosts, f.signIn, clock.RealClock{})
	if err != nil {
		return errors.Join(err, place.Listener.Close())
	}
	fmt.Fprintf(f.process.Out, "Listening on %s for the proxy that signs people in (--sign-in=%s). Stop with Ctrl-C.\n", address, f.signIn.SignIn)
	return server.Serve(ctx, place.Listener)
}
