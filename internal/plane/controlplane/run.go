// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/internal/plane/authtrust"
	"github.com/docket-project/docket/internal/server/namespaces"
)

// retryInterval is the pause before what every control plane needs is retried.
const retryInterval = 100 * time.Millisecond

// definitionsRead is the signal with which the server of custom resources says that it has read their definitions.
const definitionsRead = "CRDInformerHasNotSynced"

// definitionsTimeout is how long a server that is stopped while it starts waits for its definitions of custom
// resources.
const definitionsTimeout = 10 * time.Second

// Run serves until ctx ends or something fails, then lets requests under way finish,
// ends watches in order, and closes the database.
func (s *Server) Run(ctx context.Context) error {
	prepared, err := s.aggregator.PrepareRun()
	if err != nil {
		return errors.Join(err, s.Close())
	}
	s.shrink(s.custom.GenericAPIServer.OpenAPIV3VersionedService)
	emptier, err := namespaces.New(namespaces.Config{Client: s.client()})
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return s.reports.RunBehind(ctx, func(ctx context.Context) error {
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return prepared.RunWithContext(ctx) })
		group.Go(func() error { return emptier.Run(ctx) })
		return group.Wait()
	})
}

// client returns the configuration of clients in this process, without a limit.
func (s *Server) client() *rest.Config {
	config := rest.CopyConfig(s.Loopback)
	config.QPS = -1
	return config
}

// addHooks creates the objects that must exist before the server is ready. The server may be stopped before that.
func (s *Server) addHooks() error {
	client, err := kubernetes.NewForConfig(s.client())
	if err != nil {
		return fmt.Errorf("client of the server itself: %w", err)
	}
	if err := s.addDefinitionsHook(); err != nil {
		return err
	}
	return s.aggregator.Generic.AddPostStartHook("docket-system-objects", func(hook genericapiserver.PostStartHookContext) error {
		var last error
		err := wait.PollUntilContextCancel(hook, retryInterval, true, func(ctx context.Context) (bool, error) {
			last = s.ensureSystem(ctx, client)
			return last == nil, nil
		})
		if err != nil && hook.Err() == nil {
			return errors.Join(err, last)
		}
		return nil // ctx has ended.
	})
}

// addDefinitionsHook keeps a server that is stopped while it starts from ending as if it had crashed: the server of
// custom resources makes the end of its hook crd-informer-synced an error, and an error of a hook ends the process.
func (s *Server) addDefinitionsHook() error {
	read, ok := s.custom.GenericAPIServer.MuxAndDiscoveryCompleteSignals()[definitionsRead]
	if !ok {
		return fmt.Errorf("the server of custom resources has no signal %s", definitionsRead)
	}
	return s.aggregator.Generic.AddPreShutdownHook("docket-definitions-read", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), definitionsTimeout)
		defer cancel()
		select {
		case <-read:
		case <-ctx.Done():
		}
		return nil
	})
}

// ensureSystem creates the system namespaces and those that reports are in, as in a database of a
// cluster's server, and publishes which aggregator extension servers can trust.
func (s *Server) ensureSystem(ctx context.Context, client kubernetes.Interface) error {
	if err := namespaces.EnsureSystem(ctx, client); err != nil {
		return err
	}
	used, err := s.reports.Namespaces(ctx)
	if err != nil {
		return err
	}
	for _, name := range used {
		_, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		switch {
		case apierrors.IsInvalid(err):
			// Its reports can still be read and deleted.
			klog.InfoS("There are reports in a namespace that can't be created", "namespace", name, "reason", err)
		case err != nil && !apierrors.IsAlreadyExists(err):
			return fmt.Errorf("create namespace %s, which has reports: %w", name, err)
		}
	}
	return authtrust.Publish(ctx, client, authtrust.Trust{
		ProxyCA: s.config.Proxy.CA.CertificatePEM, ProxyNames: []string{s.config.Proxy.CommonName},
		ClientCA: s.config.ClientCA,
	})
}
