// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// TestSpans: the span of a resource has a child for each policy that was evaluated for it.
func TestSpans(t *testing.T) { // It sets the tracer provider of the process.
	exporter := tracetest.NewInMemoryExporter()
	before := otel.GetTracerProvider()
	otel.SetTracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	w := newWorld(t)
	w.namespace(t, "spans")
	w.pod(t, "spans", "traced")
	for _, name := range []string{"spans-a", "spans-b"} {
		w.policy(t, name, spec{Targets: targets("Pod"), Rules: asking("team")})
	}
	r := w.scan(t)
	r.rest(t)
	var got []string
	all := exporter.GetSpans()
	for i := range all {
		if parent := parentOf(all, &all[i]); parent != nil {
			got = append(got, fmt.Sprintf("%s: %s %s", attributesOf(parent), all[i].Name, attributesOf(&all[i])))
		}
	}
	for _, name := range []string{"spans-a", "spans-b"} {
		want := "evaluate policy ClusterPolicy/" + name
		if !slices.ContainsFunc(got, func(line string) bool {
			return strings.Contains(line, want) && strings.Contains(line, "Pod") && strings.Contains(line, "traced")
		}) {
			t.Errorf("no span %q below that of the pod; got\n%s", want, strings.Join(got, "\n"))
		}
	}
}

func parentOf(all tracetest.SpanStubs, child *tracetest.SpanStub) *tracetest.SpanStub {
	i := slices.IndexFunc(all, func(span tracetest.SpanStub) bool {
		return child.Parent.IsValid() && span.SpanContext.SpanID() == child.Parent.SpanID()
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// attributesOf returns the values of the attributes.
func attributesOf(span *tracetest.SpanStub) string {
	var values []string
	for _, attribute := range span.Attributes {
		values = append(values, attribute.Value.String())
	}
	return strings.Join(values, " ")
}
