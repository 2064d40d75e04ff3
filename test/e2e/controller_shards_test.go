// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/docket-project/docket/internal/kit/testkit"
	"github.com/docket-project/docket/test/e2e/harness"
)

const shardCount = 3

// sharded is three controllers that share twelve namespaces.
type sharded struct {
	*controlled

	namespaces []string
	replicas   []*harness.Controller
}

// TestControllerShards: three replicas share the namespaces, each evaluates its part only, and all reports are there.
// One that dies is replaced within 15 s, and one that comes back gets its part. No result is ever lost or there
// twice.
func TestControllerShards(t *testing.T) {
	testkit.Full(t)
	t.Parallel()
	s := &sharded{controlled: startControlled(t)}
	s.kubectl.RunInput(t, labelPolicy("", "labels", rule{"a", "ConfigMap", "a"}, rule{"b", "ConfigMap", "b"}), "apply", "-f", "-")
	s.kubectl.RunInput(t, labelPolicy("", "spaces", rule{"c", "Namespace", "c"}), "apply", "-f", "-")
	for i := range 12 {
		namespace := fmt.Sprint("part-", i)
		s.namespaces = append(s.namespaces, namespace)
		s.cluster.EnsureNamespace(t, namespace)
		s.kubectl.RunInput(t, configMaps(namespace, "one", "two"), "create", "--namespace", namespace, "-f", "-")
	}
	arguments := []string{"--leader-elect=true", "--leader-elect-namespace=default", "--shards=" + strconv.Itoa(shardCount)}
	for range shardCount {
		s.replicas = append(s.replicas, harness.NewController(t, s.cluster.Kubeconfig(), arguments...))
	}
	for _, replica := range s.replicas {
		replica.Start(t)
	}
	s.wantHeld(t, 1, 1, 1)
	s.wantAll(t, "one", "two")
	for i, replica := range s.replicas {
		if got := replica.Metric(t, "docket_controller_evaluations_total", nil); got == 0 {
			t.Errorf("replica %d has evaluated nothing", i)
		}
	}

	// Without a leave: its leases expire.
	killed := time.Now()
	s.replicas[0].Kill(t)
	s.replicas = s.replicas[1:]
	s.kubectl.Run(t, "delete", "configmap", "one", "--namespace", s.namespaces[0])
	for _, namespace := range s.namespaces {
		s.kubectl.RunInput(t, configMaps(namespace, "three"), "create", "--namespace", namespace, "-f", "-")
		s.kubectl.Run(t, "delete", "configmap", "two", "--namespace", namespace)
	}
	s.kubectl.RunInput(t, configMaps(s.namespaces[0], "one"), "create", "--namespace", s.namespaces[0], "-f", "-")
	waitUntil(t, "the other two have all shards", func() bool { return slices.Equal(s.held(t), []float64{1, 2}) })
	t.Logf("taken over after %v", time.Since(killed).Round(100*time.Millisecond))
	s.wantAll(t, "one", "three")

	back := harness.NewController(t, s.cluster.Kubeconfig(), arguments...)
	back.Start(t)
	s.replicas = append(s.replicas, back)
	s.wantHeld(t, 1, 1, 1)
	for _, namespace := range s.namespaces {
		s.kubectl.RunInput(t, configMaps(namespace, "four"), "create", "--namespace", namespace, "-f", "-")
	}
	s.wantAll(t, "one", "three", "four")

	// One alone does everything, and gets everything without a wait for leases that are given back.
	for _, replica := range s.replicas[1:] {
		replica.Stop(t)
	}
	s.replicas = s.replicas[:1]
	s.wantHeld(t, shardCount)
	s.wantAll(t, "one", "three", "four")
}

// held returns how many shards each replica has, sorted.
func (s *sharded) held(t *testing.T) []float64 {
	t.Helper()
	var held []float64
	for _, replica := range s.replicas {
		held = append(held, replica.Metric(t, "docket_controller_shard_held", nil))
	}
	slices.Sort(held)
	return held
}

func (s *sharded) wantHeld(t *testing.T, want ...float64) {
	t.Helper()
	waitUntil(t, fmt.Sprintf("the replicas have %v shards", want), func() bool { return slices.Equal(s.held(t), want) })
}

// wantAll waits until all namespaces have just the results of these ConfigMaps, and the cluster those of the
// namespaces.
func (s *sharded) wantAll(t *testing.T, names ...string) {
	t.Helper()
	for _, namespace := range s.namespaces {
		want := map[string]string{}
		for _, name := range names {
			want["labels a ConfigMap/"+name], want["labels b ConfigMap/"+name] = "pass", "fail"
		}
		s.wantResults(t, namespace, want)
	}
	waitUntil(t, "namespaces have results", func() bool {
		got := s.results(t, "")
		return !slices.ContainsFunc(s.namespaces, func(namespace string) bool { return got["spaces c Namespace/"+namespace] != "fail" })
	})
}
