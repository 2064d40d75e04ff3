// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/docket-project/docket/internal/kit/testkit"
)

// benchClients is the number of concurrent clients.
const benchClients = 16

// BenchmarkGet compares a get through the gateway with one that goes to the cluster, with
// several clients at once. The cluster and the gateway share this process.
func BenchmarkGet(b *testing.B) {
	cluster := newCluster(b)
	quiet := cluster.server.Config.Handler
	cluster.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/bench") {
			w.Header().Set("Content-Type", acceptJSON)
			_, _ = w.Write(benchBody)
			return
		}
		quiet.ServeHTTP(w, r)
	})
	g := start(b, cluster.config("alice-token"))
	for name, config := range map[string]*rest.Config{"direct": cluster.config("alice-token"), "gateway": g.config(g.token)} {
		b.Run(name, func(b *testing.B) { benchGet(b, config) })
	}
}

var benchBody = []byte("{\"kind\":\"Pod\",\"data\":\"" + strings.Repeat("x", 4096) + "\"}")

func benchGet(b *testing.B, config *rest.Config) {
	b.Helper()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		b.Fatal(err)
	}
	each := max(b.N/benchClients, 1)
	times := make([][]time.Duration, benchClients)
	var group sync.WaitGroup
	b.ResetTimer()
	for i := range benchClients {
		group.Go(func() {
			for range each {
				began := time.Now()
				request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, config.Host+"/api/v1/bench", nil)
				if err != nil {
					b.Error(err)
					return
				}
				response, err := client.Do(request)
				if err != nil {
					b.Error(err)
					return
				}
				_, err = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if err != nil || response.StatusCode != http.StatusOK {
					b.Errorf("%d, %v", response.StatusCode, err)
					return
				}
				times[i] = append(times[i], time.Since(began))
			}
		})
	}
	group.Wait()
	b.StopTimer()
	all := slices.Concat(times...)
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "gets/s")
}

// BenchmarkWatches holds many watches through the gateway. What it reports is the memory
// of this process, with both ends and the cluster in it.
func BenchmarkWatches(b *testing.B) {
	const watches = 5000
	cluster := newCluster(b)
	g := start(b, cluster.config("alice-token"))
	client := testkit.Must(rest.HTTPClientFor(g.config(g.token)))(b)
	before := heap()
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	open := make(chan struct{}, watches)
	for range watches {
		group.Go(func() {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+"/api/v1/pods?watch=true", nil)
			if err != nil {
				b.Error(err)
			} else if response, err := client.Do(request); err != nil {
				b.Error(err)
			} else {
				if _, err := readLine(response.Body); err != nil || response.StatusCode != http.StatusOK {
					b.Errorf("%s, %v", response.Status, err)
				}
				open <- struct{}{}
				<-ctx.Done()
				_ = response.Body.Close()
				return
			}
			open <- struct{}{}
		})
	}
	for range watches {
		<-open
	}
	b.ReportMetric(float64(heap()-before)/(1<<20), "MiB")
	cancel()
	group.Wait()
}

// heap is the memory that Go has from the system, stacks included.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse + stats.StackInuse
}
