// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"net"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/docket-project/docket/internal/kit/buildinfo"
	"github.com/docket-project/docket/internal/kit/logs"
	"github.com/docket-project/docket/internal/store/database"
)

// readyInterval lies between two looks whether the server is ready.
const readyInterval = 200 * time.Millisecond

// Serve is `docket serve`: it serves until ctx ends or something fails. The log says when it starts, is ready and
// stops. What libraries tell of their work is left out unless -v says otherwise.
func (o *Options) Serve(ctx context.Context, c clock.PassiveClock) (err error) {
	logs.OnlyOwn(o.Logs)
	started := c.Now()
	o.logStart()
	defer func() { logEnd(ctx, c.Since(started)) }()
	config, err := o.Complete().Config(ctx)
	if err != nil {
		return err
	}
	completed, err := config.Complete()
	if err != nil {
		return err
	}
	server, err := completed.New(ctx)
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var group errgroup.Group
	group.Go(func() error {
		defer stop()
		return server.Run(running)
	})
	group.Go(func() error {
		if err := awaitReady(running, server.Generic.LoopbackClientConfig); err == nil {
			klog.InfoS("Ready", "address", server.Generic.SecureServingInfo.Listener.Addr().String(), "after", c.Since(started).Round(time.Millisecond).String())
		}
		return nil // Why it does not become ready is what /readyz says.
	})
	return group.Wait()
}

// logStart logs the version and the settings that decide what the server does.
func (o *Options) logStart() {
	storage, kubeconfig := o.Storage, "that of the pod"
	if o.CoreAPI != nil && o.CoreAPI.CoreAPIKubeconfigPath != "" {
		kubeconfig = o.CoreAPI.CoreAPIKubeconfigPath
	}
	certificate := "made for this process"
	switch pair := o.SecureServing.ServerCert.CertKey; {
	case o.Certificate.on():
		certificate = "Secret " + o.Certificate.Secret
	case pair.CertFile != "":
		certificate = pair.CertFile
	}
	klog.InfoS("Starting", "version", "docket "+buildinfo.Get().Version, "kubeconfig", kubeconfig,
		"database", database.Redacted(storage.Database), "cluster", storage.Cluster, "apiGroups", storage.APIGroups, "resultRows", storage.ResultRows,
		"watchHistory", storage.WatchHistory.String(), "maxRequestBytes", o.Server.MaxRequestBodyBytes, "certificate", certificate,
		"address", net.JoinHostPort(o.SecureServing.BindAddress.String(), strconv.Itoa(o.SecureServing.BindPort)))
}

// logEnd logs the end of the process and its reason. The error itself is the last that the process writes.
func logEnd(ctx context.Context, ran time.Duration) {
	why := "something failed"
	if ctx.Err() != nil {
		why = "the process was told to end"
	}
	klog.InfoS("Stopped", "why", why, "ran", ran.Round(time.Second).String())
}

// awaitReady returns when the server answers that it is ready.
func awaitReady(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, readyInterval, true, func(ctx context.Context) (bool, error) {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil, nil
	})
}
