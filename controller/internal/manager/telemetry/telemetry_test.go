// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	collectormetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collectortraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/docket-project/docket/controller/internal/manager/telemetry"
	"github.com/docket-project/docket/internal/kit/testenv"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// collector is an OpenTelemetry collector that notes the names of what it gets.
type collector struct {
	collectormetrics.UnimplementedMetricsServiceServer
	traces

	mu sync.Mutex
	// got has service/name of each span and metric.
	got []string
}

// traces is the other service of the collector: both have a method of the same name.
type traces struct {
	collectortraces.UnimplementedTraceServiceServer

	note func(service, name string)
}

func (t traces) Export(_ context.Context, request *collectortraces.ExportTraceServiceRequest) (*collectortraces.ExportTraceServiceResponse, error) {
	for _, about := range request.GetResourceSpans() {
		for _, scope := range about.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				t.note(about.GetResource().GetAttributes()[1].GetValue().GetStringValue(), span.GetName())
			}
		}
	}
	return &collectortraces.ExportTraceServiceResponse{}, nil
}

func (c *collector) Export(_ context.Context, request *collectormetrics.ExportMetricsServiceRequest) (*collectormetrics.ExportMetricsServiceResponse, error) {
	for _, about := range request.GetResourceMetrics() {
		for _, scope := range about.GetScopeMetrics() {
			for _, metric := range scope.GetMetrics() {
				c.note(about.GetResource().GetAttributes()[1].GetValue().GetStringValue(), metric.GetName())
			}
		}
	}
	return &collectormetrics.ExportMetricsServiceResponse{}, nil
}

func (c *collector) note(service, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got = append(c.got, service+"/"+name)
}

// startCollector returns a collector and its address.
func startCollector(t *testing.T) (*collector, string) {
	t.Helper()
	listener := testkit.Must((&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	c := &collector{}
	server := grpc.NewServer()
	collectormetrics.RegisterMetricsServiceServer(server, c)
	collectortraces.RegisterTraceServiceServer(server, traces{note: c.note})
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return c, listener.Addr().String()
}

// TestSent: what the process has traced and counted is with the collector when Shutdown returns.
func TestSent(t *testing.T) { // It sets the tracer provider of the process.
	counter := metrics.NewCounter(&metrics.CounterOpts{Name: "docket_telemetry_test_total", Help: "A counter.", StabilityLevel: metrics.ALPHA})
	legacyregistry.MustRegister(counter)
	counter.Inc()
	collector, address := startCollector(t)
	file := filepath.Join(t.TempDir(), "tracing.yaml")
	text := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: 1000000\n", address)
	testkit.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	o := &telemetry.Options{TracingConfigFile: file, MetricsEndpoint: "http://" + address}
	if errs := o.Validate(); len(errs) > 0 {
		t.Fatal(errs)
	}
	sent := testkit.Must(telemetry.Start(t.Context(), o, "docket-controller", "one"))(t)
	_, span := sent.Traces.Tracer("test").Start(t.Context(), "a span")
	span.End()
	testkit.NoError(t, sent.Shutdown(t.Context()))
	collector.mu.Lock()
	defer collector.mu.Unlock()
	for _, want := range []string{"docket-controller/a span", "docket-controller/docket_telemetry_test_total"} {
		if !slices.Contains(collector.got, want) {
			t.Errorf("the collector did not get %s, but %q", want, collector.got)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		testkit.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, test := range map[string]struct {
		options telemetry.Options
		want    string
	}{
		"nothing":         {telemetry.Options{}, ""},
		"no such file":    {telemetry.Options{TracingConfigFile: filepath.Join(dir, "absent")}, "--tracing-config-file: "},
		"another kind":    {telemetry.Options{TracingConfigFile: write("kind.yaml", "apiVersion: v1\nkind: Pod\n")}, "--tracing-config-file: "},
		"too many":        {telemetry.Options{TracingConfigFile: write("rate.yaml", "apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nsamplingRatePerMillion: 1000001\n")}, "samplingRatePerMillion"},
		"no scheme":       {telemetry.Options{MetricsEndpoint: "collector:4317"}, "--otlp-metrics-endpoint: "},
		"another scheme":  {telemetry.Options{MetricsEndpoint: "ftp://collector"}, "--otlp-metrics-endpoint: "},
		"with a password": {telemetry.Options{MetricsEndpoint: "https://a:b@collector:4317"}, "--otlp-metrics-endpoint: "},
		"a collector":     {telemetry.Options{MetricsEndpoint: "https://collector:4317"}, ""},
	} {
		errs := test.options.Validate()
		if text := fmt.Sprint(errs); (len(errs) > 0) != (test.want != "") || !strings.Contains(text, test.want) || strings.Contains(text, "a:b") {
			t.Errorf("%s: %v, want %q", name, errs, test.want)
		}
	}
}

// TestCollectorAway: a collector that does not answer makes no errors and delays only the end, by a bounded time.
func TestCollectorAway(t *testing.T) { // It sets the tracer provider of the process.
	address := fmt.Sprintf("127.0.0.1:%d", testenv.FreePort(t))
	sent := testkit.Must(telemetry.Start(t.Context(), &telemetry.Options{MetricsEndpoint: "http://" + address}, "docket-controller", "one"))(t)
	if err := sent.Shutdown(t.Context()); err == nil {
		t.Error("Shutdown does not say that metrics are lost")
	}
}
