// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

// Package etcdtest configures etcd for tests.
package etcdtest

import (
	"fmt"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/apiserver/pkg/storage/etcd3/testserver"

	"github.com/docket-project/docket/internal/kit/testenv"
)

// NewConfig is Kubernetes' configuration for tests, with ports that nobody else gets before etcd listens, or while
// it is restarted.
func NewConfig(t testing.TB) *embed.Config {
	t.Helper()
	config := testserver.NewTestConfig(t)
	config.ListenClientUrls[0].Host = fmt.Sprintf("localhost:%d", testenv.FreePort(t))
	config.ListenPeerUrls[0].Host = fmt.Sprintf("localhost:%d", testenv.FreePort(t))
	config.AdvertiseClientUrls, config.AdvertisePeerUrls = config.ListenClientUrls, config.ListenPeerUrls
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	return config
}
