// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/plane/statedir"
	"github.com/docket-project/docket/internal/store/database"
)

const (
	// proxyName is what extension servers see of the gateway.
	proxyName = "docket-gateway"
	// readyInterval between two looks is short: a person is waiting.
	readyInterval = 50 * time.Millisecond
	// patience is how long nothing is said about a cluster that does not answer.
	patience = 5 * time.Second
)

// Run serves until ctx ends. What the user should read goes to out.
func (o *Options) Run(ctx context.Context, out io.Writer, c clock.WithTicker) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	held, err := statedir.Open(o.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	server, config, err := o.open(ctx, held, out, c)
	if err != nil {
		return err
	}
	greet := func(ctx context.Context) error { return o.greet(ctx, server, config, held, out, c) }
	if err := statedir.Attend(ctx, greet, server.Run); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "The gateway has stopped. The registrations are kept.")
	return err
}

// open does all that can fail before anything is served.
func (o *Options) open(ctx context.Context, held *statedir.Folder, out io.Writer, c clock.WithTicker) (_ *Server, _ *Config, err error) {
	shared := o.Profile != ProfileSingleUser
	place, err := statedir.Listen(ctx, o.Listen, o.AllowNonLoopback || shared)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, place.Listener.Close())
		}
	}()
	if host, _, err := net.SplitHostPort(o.Advertise); err == nil {
		place.URL, place.Hosts = "https://"+o.Advertise, append(place.Hosts, host)
	}
	config := &Config{
		Identity: Identity{Endpoint: place}, Profile: o.Profile, Delegated: o.Reviews == reviewsDelegated, Groups: o.Groups,
		DatabaseURL: o.Database,
		Database: database.Options{
			Cluster: o.Cluster, PasswordFile: o.PasswordFile, ConnectTimeout: connectTimeout,
			Waiting: database.Seldom(func(cause string, left time.Duration) {
				_, _ = fmt.Fprintln(out, database.WaitingText(o.Database, cause, left))
			}),
		},
		DiscoveryInterval: o.DiscoveryInterval, NamespaceInterval: o.NamespaceInterval, Services: o.table, Clock: c,
	}
	if config.Cluster, err = o.clusterConfig(place.URL); err != nil {
		return nil, nil, err
	}
	if err := sameCluster(held, config.Cluster); err != nil {
		return nil, nil, err
	}
	if err := o.identify(config, held, c.Now()); err != nil {
		return nil, nil, err
	}
	server, err := New(ctx, *config)
	if err != nil {
		return nil, nil, err
	}
	if err := o.writeKubeconfig(held, config); err != nil {
		return nil, nil, errors.Join(err, server.Close())
	}
	return server, config, nil
}

// writeKubeconfig writes what leads callers here. Several people share one without
// credentials.
func (o *Options) writeKubeconfig(held *statedir.Folder, c *Config) error {
	if o.Profile == ProfileSingleUser {
		return held.WriteKubeconfig(c.Identity.URL, c.Identity.CA, c.Identity.Token)
	}
	ca := c.Identity.CA
	if o.CertFile != "" {
		ca = nil // It signed no certificate that callers see.
	}
	return held.WriteTeamKubeconfig(proxyName, c.Identity.URL, ca)
}

// clusterConfig returns how the cluster is reached, from the places where kubectl looks.
func (o *Options) clusterConfig(self string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	own, err := filepath.Abs(filepath.Join(o.Dir, statedir.KubeconfigFile))
	if err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	for _, file := range append(rules.GetLoadingPrecedence(), o.Kubeconfig) {
		if absolute, err := filepath.Abs(file); err == nil && absolute == own {
			return nil, fmt.Errorf("--kubeconfig: %s is the gateway's own; give that of the cluster (is KUBECONFIG still set?)", own)
		}
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig, --context: %w; give a kubeconfig with which kubectl reaches the cluster", err)
	}
	if strings.TrimSuffix(config.Host, "/") == self {
		return nil, fmt.Errorf("--kubeconfig: is the gateway itself (%s); give that of the cluster", self)
	}
	return config, nil
}

// identify sets what proves who the gateway is, and which certificates it accepts.
func (o *Options) identify(c *Config, held *statedir.Folder, now time.Time) error {
	ca, serving, err := held.Certificates(c.Identity.Hosts, now)
	if err != nil {
		return err
	}
	c.Identity.CA = ca
	if c.Identity.Proxy, err = held.ProxyCertificate(proxyName, now); err != nil {
		return err
	}
	if o.Profile == ProfileSingleUser {
		if c.Identity.Token, err = held.Token(); err != nil {
			return err
		}
	}
	if o.CertFile != "" {
		c.Identity.Serving, err = dynamiccertificates.NewDynamicServingContentFromFiles("docket gateway", o.CertFile, o.KeyFile)
	} else {
		c.Identity.Serving, err = dynamiccertificates.NewStaticCertKeyContent("docket gateway", serving.CertificatePEM, serving.KeyPEM)
	}
	if err != nil {
		return fmt.Errorf("load the serving certificate (--tls-cert-file): %w", err)
	}
	if o.ClientCAFile != "" {
		if c.ClientCA, err = dynamiccertificates.NewDynamicCAContentFromFile("client-ca", o.ClientCAFile); err != nil {
			return fmt.Errorf("--client-ca-file: %w", err)
		}
	}
	return nil
}

// greet registers what the files say once the server answers, waits until the cluster
// answers, and prints what to do next.
func (o *Options) greet(ctx context.Context, server *Server, c *Config, held *statedir.Folder, out io.Writer, watch clock.WithTicker) error {
	client, err := rest.HTTPClientFor(server.Loopback)
	if err != nil {
		return fmt.Errorf("wait until the gateway is ready: %w", err)
	}
	defer client.CloseIdleConnections()
	if err := o.register(ctx, server); err != nil {
		return err
	}
	began, told := watch.Now(), false
	err = wait.PollUntilContextCancel(ctx, readyInterval, true, func(ctx context.Context) (bool, error) {
		if statedir.AskReady(ctx, client, server.Loopback.Host) == nil {
			return true, nil
		}
		if err := server.front.UpstreamError(); err != nil && !told && watch.Since(began) > patience {
			told = true
			_, _ = fmt.Fprintf(out, "Waiting for the cluster at %s: %v\n", c.Cluster.Host, err)
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the gateway is ready: %w", err)
	}
	o.announce(out, c, held)
	return nil
}

// register makes the registrations of the files. While the server starts, it retries.
func (o *Options) register(ctx context.Context, server *Server) error {
	if len(o.registrations) == 0 {
		return nil
	}
	client, err := dynamic.NewForConfig(unlimited(server.Loopback))
	if err != nil {
		return fmt.Errorf("--apiservice: %w", err)
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, readyInterval, connectTimeout, true, func(ctx context.Context) (bool, error) {
		last = register(ctx, client, o.registrations)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(last, err)
	}
	return nil
}

// announce prints what to do next. Errors of out are ignored: if it was closed, no one
// wants to read it, and the server works.
func (o *Options) announce(out io.Writer, c *Config, held *statedir.Folder) {
	_, _ = fmt.Fprintf(out, "The gateway is ready at %s, in front of %s (profile %s). Stop it with Ctrl-C.\n", c.Identity.URL, c.Cluster.Host, o.Profile)
	if o.Profile == ProfileSingleUser {
		_, _ = fmt.Fprintf(out, "In another terminal:\n\n  export KUBECONFIG=%s\n  kubectl api-resources\n\n", statedir.Quote(held.Path(statedir.KubeconfigFile)))
	} else {
		_, _ = fmt.Fprintf(out, "Callers use, with credentials of their own,\n\n  %s\n\n", held.Path(statedir.TeamKubeconfigFile))
	}
	_, _ = fmt.Fprintf(out, "Extension servers trust it with\n\n  --requestheader-client-ca-file=%s --requestheader-allowed-names=%s\n\n",
		statedir.Quote(held.Path(statedir.ProxyCAFile)), c.Identity.Proxy.CommonName)
}
