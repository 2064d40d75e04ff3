// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// StartSpan begins a span about a policy. The caller must end it with [EndSpan].
func StartSpan(ctx context.Context, name string, p Policy) (context.Context, trace.Span) {
	ctx, span := otel.Tracer("docket-controller/policy").Start(ctx, name)
	if span.IsRecording() {
		span.SetAttributes(attribute.String("docket.policy", p.Identity().String()))
	}
	return ctx, span
}

// EndSpan ends a span, which has failed if err is not nil.
func EndSpan(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End()
}
