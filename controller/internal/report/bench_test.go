// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// scanned fills a layout as a scan of pods with 17 policies does, two of which have two rules.
func scanned(l *Layout, pods, namespaces int) {
	for p := range 17 {
		l.Present(clusterPolicy(fmt.Sprintf("pod-security-policy-%d", p)), presentation())
	}
	for i := range pods {
		subject := pod(fmt.Sprintf("namespace-%d", i%namespaces), fmt.Sprintf("deployment-7d9f8c6b5-%05d", i))
		for p := range 17 {
			results := []policy.Result{fail("the-rule", fmt.Sprintf("validation error: Privileged mode is disallowed by policy %d. rule the-rule failed at path /spec/containers/0/securityContext/", p))}
			if p < 2 {
				results = append(results, pass("another-rule"))
			}
			l.Set(clusterPolicy(fmt.Sprintf("pod-security-policy-%d", p)), subject, results)
		}
	}
}

// BenchmarkScan sets and renders 190,000 results of 10,000 pods.
func BenchmarkScan(b *testing.B) {
	for _, split := range []bool{true, false} {
		b.Run(fmt.Sprintf("split=%v", split), func(b *testing.B) {
			for b.Loop() {
				before := heapInUse()
				l := NewLayout(Options{Split: split})
				scanned(l, 10_000, 20)
				b.ReportMetric(float64(heapInUse()-before)/(1<<20), "MiB-held")
				began := time.Now()
				runtime.GC()
				b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms-GC")
				size, reports := 0, 0
				for object := range l.Reports() {
					data := testkit.Must(json.Marshal(object))(b)
					size, reports = size+len(data), reports+1
				}
				b.ReportMetric(float64(size)/(1<<20), "MiB-JSON")
				b.ReportMetric(float64(reports), "reports")
			}
		})
	}
}

func heapInUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestMemory: 190,000 results take less than 15 MB.
func TestMemory(t *testing.T) {
	before := heapInUse()
	l := NewLayout(Options{Split: true})
	scanned(l, 10_000, 20)
	if held := heapInUse() - before; held > 15_000_000 {
		t.Errorf("10,000 pods with 19 results each take %d bytes", held)
	}
	runtime.KeepAlive(l)
}
