// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	prometheusbridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/tracing"
	tracingapi "k8s.io/component-base/tracing/api/v1"
)

const (
	// pushInterval is how often metrics are sent: as often as Prometheus usually asks for them.
	pushInterval = 30 * time.Second
	// lastPush bounds how long the end of the process waits for the collector.
	lastPush = 5 * time.Second
)

// Options are the flags.
type Options struct {
	// TracingConfigFile is a file with a TracingConfiguration of apiserver.config.k8s.io; empty for no traces.
	TracingConfigFile string
	// MetricsEndpoint is the URL of a collector that gets metrics by OTLP over gRPC; empty for none.
	MetricsEndpoint string
}

// AddFlags adds the flags, which set o.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.TracingConfigFile, "tracing-config-file", o.TracingConfigFile, "File with a TracingConfiguration (apiserver.config.k8s.io/v1), as kube-apiserver takes it: where traces are sent, and how many")
	fs.StringVar(&o.MetricsEndpoint, "otlp-metrics-endpoint", o.MetricsEndpoint, "OpenTelemetry collector that metrics are sent to every 30 s, by OTLP over gRPC, such as https://collector.monitoring:4317; http:// is without TLS. OTEL_EXPORTER_OTLP_METRICS_HEADERS, _CERTIFICATE and the like count. /metrics stays")
}

// Validate returns one error for each flag that is wrong.
func (o *Options) Validate() []error {
	var errs []error
	if _, err := o.tracing(); err != nil {
		errs = append(errs, err)
	}
	if o.MetricsEndpoint != "" {
		endpoint, err := url.Parse(o.MetricsEndpoint)
		if err != nil || endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http" || endpoint.User != nil {
			errs = append(errs, errors.New("--otlp-metrics-endpoint: is not a URL such as https://collector.monitoring:4317"))
		}
	}
	return errs
}

// tracing reads the configuration of traces; nil if there is none.
func (o *Options) tracing() (*tracingapi.TracingConfiguration, error) {
	if o.TracingConfigFile == "" {
		return nil, nil
	}
	config, err := genericoptions.ReadTracingConfiguration(o.TracingConfigFile)
	if err == nil {
		err = tracingapi.ValidateTracingConfiguration(config, utilfeature.DefaultFeatureGate, nil).ToAggregate()
	}
	if err != nil {
		return nil, fmt.Errorf("--tracing-config-file: %w", err)
	}
	return config, nil
}

// Telemetry sends traces and metrics. Make it with [Start].
type Telemetry struct {
	// Traces makes spans; those of a provider without a configuration do nothing.
	Traces  tracing.TracerProvider
	metrics *sdkmetric.MeterProvider
}

// Start begins to send what o asks for, as the given service and instance. It makes the tracer provider that of the
// process. A collector that can't be reached is no error: exporters retry, and drop what they can't send.
func Start(ctx context.Context, o *Options, service, instance string) (*Telemetry, error) {
	config, err := o.tracing()
	if err != nil {
		return nil, err
	}
	about := []attribute.KeyValue{attribute.String("service.name", service), attribute.String("service.instance.id", instance)}
	// Not bound to ctx: what the end of the process does is sent, too.
	ctx = context.WithoutCancel(ctx)
	t := &Telemetry{}
	if t.Traces, err = tracing.NewProvider(ctx, config, nil, []resource.Option{resource.WithAttributes(about...)}); err != nil {
		return nil, fmt.Errorf("--tracing-config-file: %w", err)
	}
	if t.metrics, err = newMetrics(ctx, o.MetricsEndpoint, about); err != nil {
		return nil, errors.Join(fmt.Errorf("--otlp-metrics-endpoint: %w", err), t.Traces.Shutdown(ctx))
	}
	otel.SetTracerProvider(t.Traces)
	return t, nil
}

// newMetrics sends what /metrics has to an endpoint; nil if it is empty.
func newMetrics(ctx context.Context, endpoint string, about []attribute.KeyValue) (*sdkmetric.MeterProvider, error) {
	if endpoint == "" {
		return nil, nil
	}
	exporter, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpointURL(endpoint))
	if err != nil {
		return nil, err
	}
	bridge := prometheusbridge.NewMetricProducer(prometheusbridge.WithGatherer(legacyregistry.DefaultGatherer))
	reader := sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(bridge), sdkmetric.WithInterval(pushInterval))
	return sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(resource.NewSchemaless(about...))), nil
}

// Shutdown sends the rest, within a bounded time, and ends all goroutines.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastPush)
	defer cancel()
	err := t.Traces.Shutdown(ctx)
	if t.metrics != nil {
		err = errors.Join(err, t.metrics.Shutdown(ctx))
	}
	return err
}
