// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/klog/v2"
)

// Options of Open.
type Options struct {
	// Transport says where etcd is, as URLs with http or https, and which files are for TLS.
	Transport storagebackend.TransportConfig
	// Prefix of all keys, and Cluster, the part of each key that follows it. Neither
	// may be empty; Cluster may not have a slash.
	Prefix, Cluster string
	// CompactionInterval is how often history is dropped; 0 leaves that to somebody else.
	CompactionInterval time.Duration
	// ConnectTimeout is how long to wait for an etcd that doesn't answer; 0 is as long as the context allows.
	ConnectTimeout time.Duration
	// Waiting is called for each failed attempt of Open or Wait, with the cause and how long others will follow; 0 is
	// without end. Optional.
	Waiting func(cause string, left time.Duration)
	// Codec encodes objects as they are stored.
	Codec runtime.Codec
	// GarbageCollector says that a garbage collector watches the objects.
	GarbageCollector bool
}

// Store keeps the objects of one cluster. Safe for concurrent use.
type Store struct {
	options Options
	client  *clientv3.Client
	// probeKey is below the prefix of the cluster. Nobody writes it.
	probeKey []byte
	presence *presence
}

// Open returns a store when etcd has answered. The store must be closed.
func Open(ctx context.Context, options Options) (*Store, error) {
	if err := ValidateCluster(options.Cluster); err != nil {
		return nil, err
	}
	client, err := newClient(options.Transport)
	if err != nil {
		return nil, err
	}
	options.Transport.EgressLookup = persistentDialer
	s := &Store{
		options: options, client: client, presence: newPresence(),
		probeKey: options.probeKey(),
	}
	if err := s.wait(ctx); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	s.showSize()
	return s, nil
}

func (o *Options) probeKey() []byte { return []byte(o.Prefix + "/" + o.Cluster + "/health") }

// ValidateCluster says why a name of a cluster can't be a part of a key.
func ValidateCluster(name string) error {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return errors.New("is a part of each key in etcd, so it can neither have a slash nor be one dot or two")
	}
	return nil
}

// newClient returns the client of the check. It connects when it is used.
func newClient(t storagebackend.TransportConfig) (*clientv3.Client, error) {
	config := clientv3.Config{
		Endpoints: t.ServerList,
		// By default pauses between attempts grow to two minutes.
		DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: dialInterval, Multiplier: 1, MaxDelay: dialInterval},
			MinConnectTimeout: probeTimeout,
		})},
		// What it has to say is in the errors.
		Logger: zap.NewNop(),
	}
	if t.TrustedCAFile != "" || t.CertFile != "" {
		info := transport.TLSInfo{TrustedCAFile: t.TrustedCAFile, CertFile: t.CertFile, KeyFile: t.KeyFile}
		var err error
		if config.TLS, err = info.ClientConfig(); err != nil {
			return nil, fmt.Errorf("certificates for etcd (cacert, cert, key): %w", err)
		}
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("client of etcd: %w", err)
	}
	return client, nil
}

// probe returns nil when a majority of etcd answers in time.
//
// Why not by Get of the client: that one waits for a connection, and then knows only that time is up.
func (s *Store) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err := etcdserverpb.NewKVClient(s.client.ActiveConnection()).Range(ctx, &etcdserverpb.RangeRequest{Key: s.probeKey}, grpc.WaitForReady(false))
	if err != nil {
		return fmt.Errorf("etcd doesn't answer: %w", explained(rpctypes.Error(err)))
	}
	return nil
}

// Ready returns nil when a majority of etcd answers.
func (s *Store) Ready(ctx context.Context) error {
	if err := s.presence.away(); err != nil {
		return err
	}
	return s.probe(ctx)
}

// Run looks after etcd until ctx ends: while it is away operations are refused at once.
func (s *Store) Run(ctx context.Context) error {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		err := s.probe(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if !s.presence.set(err) {
			continue
		}
		if err != nil {
			klog.ErrorS(err, "The database is unavailable; retrying every second", "database", s.options.Transport.ServerList)
		} else {
			klog.InfoS("The database is available again", "database", s.options.Transport.ServerList)
		}
	}
}

// Close gives back what Open took. The resources must have been destroyed.
func (s *Store) Close() error {
	if err := s.client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close the client of etcd: %w", err)
	}
	return nil
}

// RESTOptionsGetter returns what the generic registry needs to keep resources in this store.
func (s *Store) RESTOptionsGetter() generic.RESTOptionsGetter {
	return s.ObjectsGetter(s.options.Codec)
}

// ObjectsGetter is RESTOptionsGetter for resources whose objects are encoded with another codec.
func (s *Store) ObjectsGetter(codec runtime.Codec) generic.RESTOptionsGetter {
	return restOptionsGetter{s, codec}
}
