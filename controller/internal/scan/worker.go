// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"

	"github.com/docket-project/docket/api/report"
	"github.com/docket-project/docket/controller/internal/policy"
)

// work processes resources until the queue is closed.
func (s *Scanner) work(ctx context.Context) {
	evaluator := s.newEvaluator()
	defer evaluator.end()
	for {
		rs, ok := s.queue.get()
		if !ok {
			return
		}
		if err := s.process(ctx, evaluator, rs); err != nil && ctx.Err() == nil {
			scanErrors.WithLabelValues(operationEvaluate).Inc()
			klog.FromContext(ctx).Error(err, "Resource not evaluated", "resource", rs.kind.resource.GroupResource())
		}
		s.queue.done(rs)
	}
}

// process does what is to be done for a resource, except for slow policies, which are evaluated later. When
// ctx is done, it stops between two policies.
func (s *Scanner) process(ctx context.Context, evaluator *evaluator, rs *resourceState) error {
	todo := rs.kind.begin(rs)
	reference := rs.kind.reference(todo.packed)
	ctx, span := s.startSpan(ctx, reference, len(todo.due))
	defer span.End()
	if slices.ContainsFunc(todo.due, (*compiled).isEvaluated) {
		object, err := s.load(ctx, rs.kind, todo.packed)
		if err != nil || object == nil {
			rs.kind.interrupt(rs)
			return err
		}
		subject, err := s.subjectOf(rs.kind, object, todo.due)
		if err != nil {
			return err
		}
		for _, c := range todo.due {
			if c.admission {
				continue // Its results come from requests.
			}
			if err := s.evaluate(ctx, evaluator, rs, c, subject, reference); err != nil {
				return err
			}
		}
	}
	for _, gone := range todo.dropped {
		gone.clear(reference)
	}
	rs.kind.finish(rs, todo)
	return nil
}

// load returns a resource, from memory if it is there; nil if it is gone meanwhile.
func (s *Scanner) load(ctx context.Context, k *kind, p *packed) (*unstructured.Unstructured, error) {
	if p.dropped {
		return fetch(ctx, s.config.Client, s.config.Clock, k, p)
	}
	return p.unpack()
}

// subjectOf returns an object with what policies see of its namespace. It must be called after begin: a
// later change of the namespace queues the resource once more.
func (s *Scanner) subjectOf(k *kind, object *unstructured.Unstructured, due []*compiled) (policy.Subject, error) {
	return policy.NewSubject(object, k.resource.GroupVersionResource, s.namespaces, slices.ContainsFunc(due, (*compiled).readsNamespace))
}

// found counts an evaluation, by its worst outcome.
func (s *Scanner) found(c *compiled, reference policy.Reference, a policy.Evaluation) {
	evaluationSeconds.Observe(a.Duration.Seconds())
	outcome := worst(a.Results)
	evaluations.WithLabelValues(outcome).Inc()
	if s.config.EventsPerPolicy > 0 && (outcome == string(report.OutcomeFail) || outcome == string(report.OutcomeError)) {
		c.revision.owner.failures.add(reference, s.config.Clock.Now())
	}
}

// worst returns the most serious outcome.
func worst(results []policy.Result) string {
	for _, outcome := range []report.Outcome{report.OutcomeError, report.OutcomeFail, report.OutcomeWarn, report.OutcomePass, report.OutcomeSkip} {
		if slices.ContainsFunc(results, func(r policy.Result) bool { return r.Outcome == outcome }) {
			return string(outcome)
		}
	}
	return outcomeNone
}

// startSpan begins the span of a resource that is evaluated.
func (s *Scanner) startSpan(ctx context.Context, about policy.Reference, policies int) (context.Context, trace.Span) {
	ctx, span := s.tracer.Start(ctx, "evaluate resource")
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("docket.resource.kind", about.Kind), attribute.String("k8s.namespace.name", about.Namespace),
			attribute.String("docket.resource.name", about.Name), attribute.Int("docket.policies", policies),
		)
	}
	return ctx, span
}
