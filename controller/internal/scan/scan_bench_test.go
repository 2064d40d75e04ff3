// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BenchmarkFirstScan: 10,000 pods by 17 policies that cost nothing, from a control plane in this
// process: the time of the scanner, the watch and the server.
func BenchmarkFirstScan(b *testing.B) {
	const count, workers = 10_000, 8
	w := newWorld(b)
	w.namespace(b, "bench")
	var writers sync.WaitGroup
	for part := range workers {
		writers.Go(func() {
			for i := part; i < count; i += workers {
				if _, err := w.at(pods, "bench").Create(context.WithoutCancel(b.Context()), podObject("bench", fmt.Sprint("p", i)), metav1.CreateOptions{}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	for _, name := range numbered("bench-", 17) {
		w.policy(b, name, spec{Targets: targets("Pod"), Rules: asking("team")})
	}
	for b.Loop() {
		r := w.scan(b)
		r.rest(b)
		if n := r.compiler.count("ClusterPolicy/bench-", "Pod/bench/"); n != 17*count {
			b.Fatalf("%d evaluations", n)
		}
		r.stop()
	}
}
