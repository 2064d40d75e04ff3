// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/docket-project/docket/controller/internal/policy"
)

// BenchmarkApart: policies that cost next to nothing, for an object of the size of a Pod: what it costs that they are
// evaluated by another process, one by one and together. The processor time is that of both processes; that of the
// engine is known to 10 ms.
func BenchmarkApart(b *testing.B) {
	e := newEngine(b, nil)
	subject := pod("a", "")
	var containers []any
	for i := range 20 {
		containers = append(containers, map[string]any{"name": fmt.Sprint("c", i), "image": "registry.example.com/shop/web:1.2.3", "resources": map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "128Mi"}}})
	}
	subject.Object.Object["spec"] = map[string]any{"containers": containers}
	var err error
	if subject.JSON, err = encodeObject(subject.Object); err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{1, 5, 20} {
		var here, there []policy.Policy
		for i := range count {
			object := named(fmt.Sprint("p", i))
			here = append(here, trouble{}.Compile(object, nil))
			there = append(there, compile(b, e, object))
		}
		for _, test := range []struct {
			name     string
			policies []policy.Policy
			together bool
		}{{"here", here, true}, {"one by one", there, false}, {"together", there, true}} {
			b.Run(fmt.Sprintf("%s/%d", test.name, count), func(b *testing.B) {
				before := processorTime(b, e)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						ctx, end := b.Context(), func() {}
						if test.together {
							ctx, end = policy.Batch(b.Context(), test.policies, subject, time.Minute)
						}
						for _, p := range test.policies {
							if _, err := p.Evaluate(ctx, subject); err != nil {
								b.Error(err)
							}
						}
						end()
					}
				})
				b.ReportMetric(float64(processorTime(b, e)-before)/float64(b.N*count), "cpu-ns/evaluation")
			})
		}
	}
}

// processorTime returns that of this process and the engine.
func processorTime(b *testing.B, e *Engine) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	s, err := e.there()
	if err != nil {
		b.Fatal(err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.process.command.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	// After the name in brackets: utime and stime, in hundredths of a second, are the 12th and 13th.
	_, fields, _ := strings.Cut(string(stat), ") ")
	var user, system int64
	parts := strings.Fields(fields)
	if _, err := fmt.Sscan(parts[11]+" "+parts[12], &user, &system); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano()+usage.Stime.Nano()) + time.Duration(user+system)*10*time.Millisecond
}
