// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/record"

	"github.com/docket-project/docket/controller/internal/cluster/shard"
	"github.com/docket-project/docket/controller/internal/report"
	"github.com/docket-project/docket/controller/internal/scan"
)

// discoveryTimeout bounds a discovery request, and with it how long a scanner may take to end.
const discoveryTimeout = 5 * time.Second

// RESTConfig returns the configuration for the cluster: that of a kubeconfig or, if file is empty, of the
// service account of the pod.
func RESTConfig(kubeconfig, userAgent string) (*rest.Config, error) {
	config, err := clusterConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	config.UserAgent = userAgent
	// No limit of our own: API Priority and Fairness knows better what the cluster can take.
	config.QPS = -1
	return config, nil
}

func clusterConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("--kubeconfig: is required outside a pod")
		}
		return config, err
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return config, nil
}

func (m *Manager) scanConfig(r *replica, layout *report.Layout, shards shard.Set, recorder record.EventRecorder) scan.Config {
	return scan.Config{
		Client: r.client, Served: r.served, Policies: r.policies, Results: layout, Shards: shards, Recorder: recorder,
		Workers: m.options.Workers, Interval: m.options.ScanInterval, Exclude: m.excluded(), EventsPerPolicy: m.options.EventsPerPolicy,
		Adopt: m.options.AdoptKyvernoResults, Admission: m.options.Admission,
	}
}
